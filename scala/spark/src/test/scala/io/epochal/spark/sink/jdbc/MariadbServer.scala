package io.epochal.spark.sink.jdbc

import java.net.{InetAddress, ServerSocket}
import java.nio.file.{Files, Path, Paths}
import java.sql.DriverManager
import java.util.concurrent.TimeUnit

import scala.util.{Try, Using}

/** A MariaDB server for this JVM, started from the programs of Debian's package on a port of its own, as a plain user. */
object MariadbServer {

  /** A JDBC URL without a database, with its user; or why there is none. */
  lazy val url: Either[String, String] =
    program
      .toRight("no MariaDB: install Debian's mariadb-server (the program mariadbd was not found)")
      .map(start)

  private def program: Option[Path] =
    (Option(System.getenv("PATH")).toSeq.flatMap(_.split(':')) ++ Seq("/usr/sbin", "/usr/local/sbin"))
      .map(Paths.get(_).resolve("mariadbd"))
      .find(Files.isExecutable(_))

  private val isRoot = System.getProperty("user.name") == "root"

  private def start(program: Path): String = {
    val home = Files.createTempDirectory("epochal-mariadb")
    if (isRoot) Runtime.getRuntime.exec(Array("chown", "nobody", home.toString)).waitFor()
    val log = home.resolve("log")
    val common =
      Seq("--no-defaults", s"--datadir=$home/data", s"--log-error=$log") ++ (if (isRoot) Seq("--user=nobody") else Nil)
    val installed =
      run(home, Seq("mariadb-install-db", "--auth-root-authentication-method=normal", "--skip-test-db") ++ common: _*)
    if (installed.waitFor() != 0)
      throw new IllegalStateException(s"mariadb-install-db: ${Files.readString(home.resolve("out"))}")
    val port = Using.resource(new ServerSocket(0, 1, InetAddress.getLoopbackAddress))(_.getLocalPort)
    val settings = Seq(
      "--bind-address=127.0.0.1",
      s"--port=$port",
      s"--socket=$home/socket",
      s"--pid-file=$home/pid",
      "--innodb-buffer-pool-size=64M",
      // The worst that a server can be set to.
      "--sql-mode=",
      "--default-time-zone=+05:00",
      "--character-set-server=latin1",
      "--default-storage-engine=MyISAM"
    )
    val server = run(home, (program.toString +: (common ++ settings)): _*)
    Runtime.getRuntime.addShutdownHook(new Thread(() => stop(server, home)))
    val url = s"jdbc:mariadb://127.0.0.1:$port/?user=root"
    await(url, server, log)
    url
  }

  private def await(url: String, server: Process, log: Path): Unit = {
    val deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60)
    while (Try(DriverManager.getConnection(url).close()).isFailure) {
      if (!server.isAlive || System.nanoTime() > deadline)
        throw new IllegalStateException(s"MariaDB does not answer: ${Try(Files.readString(log)).getOrElse("")}")
      Thread.sleep(20)
    }
  }

  private def stop(server: Process, home: Path): Unit = {
    server.destroy()
    if (!server.waitFor(20, TimeUnit.SECONDS)) server.destroyForcibly()
    org.apache.commons.io.FileUtils.deleteQuietly(home.toFile): Unit
  }

  private def run(home: Path, command: String*): Process =
    new ProcessBuilder(command: _*)
      .directory(home.toFile)
      .redirectErrorStream(true)
      .redirectOutput(home.resolve("out").toFile)
      .start()
}
