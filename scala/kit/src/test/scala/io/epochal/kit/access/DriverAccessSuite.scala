package io.epochal.kit.access

import java.nio.file.{Files, Path}

import org.scalatest.funsuite.AnyFunSuite

import io.epochal.core.error.{Conditions, EpochalException}

final class DriverAccessSuite extends AnyFunSuite {

  private def access(settings: (String, String)*): DriverAccess = new DriverAccess(settings.toMap.get, Some("a server"))
  private def alone(settings: (String, String)*): DriverAccess = new DriverAccess(settings.toMap.get, None)

  private def refused(body: => Any): EpochalException = {
    val error = intercept[EpochalException](body)
    assert(error.condition == Conditions.OptionNotAllowed, error.getMessage)
    error
  }

  private def allowing(files: Any*): DriverAccess = access(DriverAccess.AllowedFiles -> files.mkString(", "))

  /** A directory with `allowed/in`, `allowed/out` (a link to `secret`) and `secret`, without links above it. */
  private def withPlace(body: Path => Unit): Unit = {
    val place = Files.createTempDirectory("epochal-access").toRealPath()
    Files.createDirectory(place.resolve("allowed"))
    Files.writeString(place.resolve("secret"), "s")
    Files.writeString(place.resolve("allowed/in"), "s")
    Files.createSymbolicLink(place.resolve("allowed/out"), place.resolve("secret"))
    body(place)
  }

  test("a driver with one user allows everything in options") {
    assert(alone().file("o", "/etc/passwd").toString == "/etc/passwd")
    alone().environment("o", "HOME")
    alone().classNamed("o", "java.lang.Runtime")
    alone().directory("o", "s3a://bucket/x")
    assert(!alone().isShared)
  }

  test("a driver with several users allows nothing in options") {
    refused(access().file("o", "/etc/passwd"))
    refused(access().environment("o", "HOME"))
    refused(access().classNamed("o", "java.lang.Runtime"))
    refused(access().directory("o", "s3a://bucket/x"))
    refused(access().directory("o", "/tmp/x"))
  }

  test("only the owner decides whether the driver is shared") {
    assert(!access(DriverAccess.SharedDriver -> "false").isShared)
    assert(alone(DriverAccess.SharedDriver -> "true").isShared)
    assert(access(DriverAccess.SharedDriver -> "no idea").isShared)
  }

  test("a list that is set applies to a driver with one user too") {
    refused(alone(DriverAccess.AllowedFiles -> "/run/secrets").file("o", "/etc/passwd"))
    refused(alone(DriverAccess.AllowedEnvironment -> "API_*").environment("o", "HOME"))
    refused(alone(DriverAccess.AllowedClasses -> "a.B").classNamed("o", "a.C"))
    assert(alone(DriverAccess.AllowedClasses -> "a.B").file("o", "/etc/passwd").toString == "/etc/passwd")
  }

  test("a file is checked by its real path, after links and dots are resolved") {
    withPlace { place =>
      val mine = allowing(place.resolve("allowed"))
      assert(mine.file("o", place.resolve("allowed/in").toString) == place.resolve("allowed/in"))
      Seq(
        "secret",
        "allowed/out",
        "allowed/../secret",
        "allowed/none/../../secret",
        "allowed/none/../../none",
        "allowed2")
        .foreach(name => refused(mine.file("o", place.resolve(name).toString)))
      Files.createSymbolicLink(place.resolve("link"), place.resolve("allowed"))
      assert(mine.file("o", place.resolve("link/in").toString) == place.resolve("allowed/in"))
      assert(allowing(place.resolve("link")).file("o", place.resolve("allowed/in").toString).endsWith("in"))
      assert(
        allowing("/none", place.resolve("secret")).file("o", place.resolve("allowed/out").toString).endsWith("secret"))
    }
  }

  test("a refusal has the same text whether the file exists or not") {
    withPlace { place =>
      def message(name: String): String = refused(allowing("/none").file("o", place.resolve(name).toString)).getMessage
      assert(message("secret") == message("nothing") && message("secret") == message("allowed"))
      def link(name: String): String =
        refused(allowing(place.resolve("allowed")).file("o", place.resolve(s"allowed/$name").toString)).getMessage
      Files.createSymbolicLink(place.resolve("allowed/up"), place)
      assert(link("up/secret") == link("up/nothing"))
    }
  }

  test("an output directory is checked by its path, or by its URI") {
    withPlace { place =>
      val mine = allowing(place.resolve("allowed"), "s3a://bucket/spill")
      Seq(
        place.resolve("allowed/new/deep").toString,
        s"file:$place/allowed/x",
        s"file://$place/allowed",
        "s3a://bucket/spill/a")
        .foreach(mine.directory("o", _))
      Seq(
        s"file:$place/x",
        s"file://$place/allowed/../x",
        place.toString,
        "s3a://bucket/spilled",
        "s3a://other/spill",
        "s3a://bucket/spill/../x",
        "s3a://bucket/spill/%2e%2e/x",
        "hdfs://bucket/spill",
        "foo:/x").foreach(location => refused(mine.directory("o", location)))
    }
  }

  test("variables and classes are checked by their names, or by prefixes") {
    val mine = access(DriverAccess.AllowedEnvironment -> "API_*,ONE", DriverAccess.AllowedClasses -> "a.b.*, c.D")
    Seq("API_KEY", "ONE").foreach(mine.environment("o", _))
    Seq("api_key", "MY_API_KEY", "ONE_MORE", "").foreach(name => refused(mine.environment("o", name)))
    Seq("a.b.C", "c.D").foreach(mine.classNamed("o", _))
    Seq("a.bc.D", "c.D$E").foreach(name => refused(mine.classNamed("o", name)))
  }

  test("the message names the owner's setting that allows it, and why it is needed") {
    val message = refused(access().file("bearerTokenFile", "/run/secrets/api")).getMessage
    assert(message.contains("'bearerTokenFile'") && message.contains("it serves a server"))
    assert(message.contains("--conf spark.epochal.allowedFiles=/run/secrets"))
  }

  test("a shared driver ignores classes that a session has brought") {
    val thread = Thread.currentThread
    val before = thread.getContextClassLoader
    val own = new ClassLoader(before) {}
    thread.setContextClassLoader(own)
    try {
      assert(alone().loaders.contains(own))
      assert(!access().loaders.contains(own))
    } finally thread.setContextClassLoader(before)
  }
}
