package io.epochal.jdbc

import java.nio.file.{Files, Path, Paths}

import io.epochal.support.Ports

/** MariaDB server for this JVM, started from Debian's package on its own port. */
object MariadbServer extends MysqlServer("mariadb") {

  /** JDBC URL without a database, with the user. Left: why there is no server. */
  lazy val url: Either[String, String] =
    program
      .toRight("no MariaDB: install Debian's mariadb-server (the program mariadbd was not found)")
      .map { program =>
        val home = make("mariadb-install-db", "--auth-root-authentication-method=normal", "--skip-test-db")
        start(home, program)(port => s"jdbc:mariadb://127.0.0.1:$port/?user=root")
      }

  private def program: Option[Path] =
    (Option(System.getenv("PATH")).toSeq.flatMap(_.split(':')) ++ Seq("/usr/sbin", "/usr/local/sbin"))
      .map(Paths.get(_).resolve("mariadbd"))
      .find(Files.isExecutable(_))
}

/** MySQL 8.0 server for this JVM, from a test jar with its programs. */
object Mysql8Server extends MysqlServer("mysql") {

  /** As MariaDB's, for MySQL's own driver. */
  lazy val url: Either[String, String] =
    new ServerArchive("MySQL 8.0", "mysql-Linux-amd64.tar.gz")
      .unpack()
      .map(_.resolve("bin/mysqld"))
      .filterOrElse(runs, "MySQL 8.0 does not run here: install Debian's libaio1 and libnuma1")
      .map { program =>
        val home = make(program.toString, "--initialize-insecure")
        start(home, program, "--mysqlx=OFF")(port => s"jdbc:mysql://127.0.0.1:$port/?user=root")
      }

  private def runs(program: Path): Boolean =
    new ProcessBuilder(program.toString, "--version")
      .redirectErrorStream(true)
      .redirectOutput(ProcessBuilder.Redirect.DISCARD)
      .start()
      .waitFor() == 0
}

sealed abstract class MysqlServer(name: String) {

  /** Creates a directory with the data of a new server. */
  protected def make(command: String*): Path = {
    val home = TestServer.home(name)
    if (run(home, command ++ common(home)).waitFor() != 0)
      throw new IllegalStateException(
        s"${command.mkString(" ")}: ${Seq("out", "log").map(home.resolve(_)).filter(Files.exists(_)).map(Files.readString(_)).mkString}")
    home
  }

  protected def start(home: Path, program: Path, more: String*)(url: Int => String): String = {
    val port = Ports.free()
    val settings = Seq(
      "--bind-address=127.0.0.1",
      s"--port=$port",
      s"--socket=$home/socket",
      s"--pid-file=$home/pid",
      "--innodb-buffer-pool-size=64M",
      "--max-allowed-packet=16M",
      // The least strict setting.
      "--sql-mode=",
      "--default-time-zone=+05:00",
      "--character-set-server=latin1",
      "--default-storage-engine=MyISAM"
    )
    val server = run(home, (program.toString +: common(home)) ++ settings ++ more)
    TestServer.keep(server, home, url(port), home.resolve("log"))
    url(port)
  }

  // Temporary tables not in a shared directory: another server would remove them at its start.
  private def common(home: Path): Seq[String] =
    Seq(s"--datadir=$home/data", s"--log-error=$home/log", s"--tmpdir=$home") ++ (if (TestServer.isRoot)
                                                                                    Seq("--user=nobody")
                                                                                  else Nil)

  private def run(home: Path, command: Seq[String]): Process =
    new ProcessBuilder((command.head +: "--no-defaults" +: command.tail): _*)
      .directory(home.toFile)
      .redirectErrorStream(true)
      .redirectOutput(home.resolve("out").toFile)
      .start()
}
