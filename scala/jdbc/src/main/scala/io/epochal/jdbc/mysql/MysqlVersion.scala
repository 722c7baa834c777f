package io.epochal.jdbc.mysql

import java.sql.Connection

import scala.math.Ordering.Implicits._

import io.epochal.core.error.EpochalException
import io.epochal.jdbc.option.JdbcOptions
import io.epochal.jdbc.sql.Sql

/** A server's version, `8.0.12` or `10.11.14-MariaDB-0+deb12u2`. */
final private[mysql] case class MysqlVersion(text: String) {
  def isMariadb: Boolean = text.contains("MariaDB")

  /** None: not one that can be compared. */
  private def numbers: Option[(Int, Int)] = text.split("[^0-9]+") match {
    case Array(major, minor, _*) => for { a <- major.toIntOption; b <- minor.toIntOption } yield (a, b)
    case _                       => None
  }

  /** An older server lacks what the dialect's statements use: common table expressions, window functions. */
  def check: Either[EpochalException, Unit] = {
    val (product, oldest) = if (isMariadb) ("MariaDB", (10, 6)) else ("MySQL", (8, 0))
    Either.cond(
      numbers.forall(_ >= oldest),
      (),
      JdbcOptions.unsupported(
        s"write to $product $text",
        s"the oldest $product that it knows is ${oldest._1}.${oldest._2}",
        "Upgrade the server.")
    )
  }
}

private[mysql] object MysqlVersion {
  def of(connection: Connection): MysqlVersion =
    MysqlVersion(Sql.query(connection, "SELECT VERSION()")(_.getString(1)).head)
}
