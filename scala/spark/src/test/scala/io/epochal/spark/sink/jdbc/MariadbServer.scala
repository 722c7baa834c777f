package io.epochal.spark.sink.jdbc

import java.nio.file.{Files, Path, Paths}

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

  private def start(program: Path): String = {
    val home = TestServer.home("mariadb")
    val log = home.resolve("log")
    val common =
      Seq("--no-defaults", s"--datadir=$home/data", s"--log-error=$log") ++ (if (TestServer.isRoot) Seq("--user=nobody")
                                                                             else Nil)
    val installed =
      run(home, Seq("mariadb-install-db", "--auth-root-authentication-method=normal", "--skip-test-db") ++ common: _*)
    if (installed.waitFor() != 0)
      throw new IllegalStateException(s"mariadb-install-db: ${Files.readString(home.resolve("out"))}")
    val port = TestServer.freePort()
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
    val url = s"jdbc:mariadb://127.0.0.1:$port/?user=root"
    TestServer.keep(server, home, url, log)
    url
  }

  private def run(home: Path, command: String*): Process =
    new ProcessBuilder(command: _*)
      .directory(home.toFile)
      .redirectErrorStream(true)
      .redirectOutput(home.resolve("out").toFile)
      .start()
}
