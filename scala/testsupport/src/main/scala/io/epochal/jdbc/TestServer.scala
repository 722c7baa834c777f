package io.epochal.jdbc

import java.nio.file.{Files, Path}
import java.sql.DriverManager
import java.util.concurrent.TimeUnit

import scala.util.Try

import org.scalatest.Assertions

/** Common parts of servers that tests start. They run as `nobody` if the tests run as root. */
private[epochal] object TestServer {

  /** Cancels a test that needs a missing server, or fails it if `EPOCHAL_TEST_REQUIRE` (a list of names) contains the server. */
  def missing(server: String)(reason: String): Nothing =
    if (sys.env.get("EPOCHAL_TEST_REQUIRE").exists(_.split(' ').contains(server))) Assertions.fail(reason)
    else Assertions.cancel(reason)

  val isRoot: Boolean = System.getProperty("user.name") == "root"

  /** Creates an empty directory for the server. */
  def home(name: String): Path = {
    val home = Files.createTempDirectory(s"epochal-$name")
    if (isRoot) Runtime.getRuntime.exec(Array("chown", "nobody", home.toString)).waitFor()
    home
  }

  /** Waits until the server accepts connections. Stops it and removes its directory when this JVM exits. */
  def keep(server: Process, home: Path, url: String, log: Path): Unit = {
    atExit(home)(Some(server))
    await(server, url, log)
  }

  /** Stops the server that runs then, and removes its directory, when this JVM exits. */
  def atExit(home: Path)(server: => Option[Process]): Unit =
    Runtime.getRuntime.addShutdownHook(new Thread(() => stop(server, home)))

  def await(server: Process, url: String, log: Path): Unit = {
    val deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60)
    while (Try(DriverManager.getConnection(url).close()).isFailure) {
      if (!server.isAlive || System.nanoTime() > deadline)
        throw new IllegalStateException(s"no answer at $url: ${Try(Files.readString(log)).getOrElse("")}")
      Thread.sleep(20)
    }
  }

  def stop(server: Option[Process], home: Path): Unit = {
    server.foreach { process =>
      process.destroy()
      if (!process.waitFor(20, TimeUnit.SECONDS)) process.destroyForcibly()
    }
    org.apache.commons.io.FileUtils.deleteQuietly(home.toFile): Unit
  }
}
