package io.epochal.jdbc.mysql

import org.scalatest.funsuite.AnyFunSuite

import io.epochal.core.error.Conditions

final class MysqlVersionSuite extends AnyFunSuite {

  test("a server too old for the dialect's statements is refused by name and version") {
    Seq("5.7.22-log" -> "MySQL 5.7.22-log", "10.5.29-MariaDB-0+deb11u1" -> "MariaDB 10.5.29-MariaDB-0+deb11u1")
      .foreach { case (text, named) =>
        val error = MysqlVersion(text).check.left.toOption.get
        assert(error.condition.name == Conditions.ModeUnsupported.name && error.getMessage.contains(named))
      }
  }

  test("supported servers and unknown version texts are accepted") {
    Seq(
      "8.0.12",
      "8.4.6",
      "9.4.0",
      "10.6.0-MariaDB",
      "11.8.3-MariaDB-ubu2404",
      "10.11.14-MariaDB-0+deb12u2-log",
      "next")
      .foreach(text => assert(MysqlVersion(text).check.isRight, text))
  }
}
