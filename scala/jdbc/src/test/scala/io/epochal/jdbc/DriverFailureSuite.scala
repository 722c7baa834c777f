package io.epochal.jdbc

import java.net.URLClassLoader
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}
import java.sql.{Connection, Driver, DriverPropertyInfo, SQLException}
import java.util.Properties
import java.util.logging.Logger

import scala.util.{Failure, Success, Try, Using}

import org.scalatest.funsuite.AnyFunSuite

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.jdbc.database.{Database, Dialect}
import io.epochal.jdbc.dialect.{AuthoredDialect, Dialects, JdbcDialect}
import io.epochal.jdbc.generic.GenericDialect
import io.epochal.jdbc.option.JdbcOptions
import io.epochal.jdbc.postgres.PostgresDialect
import io.epochal.kit.database.{ConnectionSettings, LoginDataSource}

/** A driver that cannot run in this JVM ends a query at once, whatever it throws. */
final class DriverFailureSuite extends AnyFunSuite {

  private val sqlite = "[EPOCHAL.DRIVER_UNUSABLE] The JDBC driver org.sqlite.JDBC cannot run in this JVM: "

  /** The logins in a JVM with an option. */
  private def loginsWith(option: String, directory: Path): Seq[String] = {
    val java = Path.of(System.getProperty("java.home"), "bin", "java").toString
    val classPath =
      Files.writeString(directory.resolve("class-path"), s"""-cp "${System.getProperty("java.class.path")}"""")
    val main = Logins.getClass.getName.stripSuffix("$")
    val process = new ProcessBuilder(java, option, s"@$classPath", main, s"jdbc:sqlite:$directory/x.db")
      .redirectError(directory.resolve("log").toFile)
      .start()
    // Beside the driver's log.
    val lines = new String(process.getInputStream.readAllBytes(), UTF_8).linesIterator.toSeq
    lines.filter(line => line == "connected" || line == "late" || line.startsWith("[EPOCHAL"))
  }

  test("SQLite's library that cannot be loaded is reported at once, with a JVM option that works") {
    val directory = Files.createTempDirectory("epochal")
    val failures = loginsWith("-Dorg.sqlite.tmpdir=/no/such/directory", directory)
    assert(failures.size == 3, Files.readString(directory.resolve("log")))
    failures.foreach(text => assert(text.startsWith(sqlite) && text.contains(" /no/such/directory")))
    val option = "-D[^ ,]+".r.findFirstIn(failures.head).get
    assert(loginsWith(option, directory) == Seq("connected", "connected", "connected"))
  }

  /** Runs `body` where the class path has further services; two cannot be linked. */
  private def withServices[A](service: Class[_], names: String*)(body: => A): A = {
    val directory = Files.createTempDirectory("epochal")
    val services = Files.createDirectories(directory.resolve("META-INF/services"))
    Files.writeString(directory.resolve("Corrupt.class"), "no class")
    Files.writeString(services.resolve(service.getName), ("no.such.Service" +: "Corrupt" +: names).mkString("\n"))
    val thread = Thread.currentThread
    val loader = thread.getContextClassLoader
    thread.setContextClassLoader(new URLClassLoader(Array(directory.toUri.toURL), getClass.getClassLoader))
    try body
    finally thread.setContextClassLoader(loader)
  }

  /** Logs in without a name of the driver's class. */
  private def login(): Connection =
    new LoginDataSource(ConnectionSettings("jdbc:broken:x", None, None, None, Map.empty), None, Map.empty).getConnection

  test("drivers of other databases that cannot be linked do not keep a driver from being used") {
    BrokenDriver.failure = () => throw new SQLException("connects")
    val error = intercept[SQLException](withServices(classOf[Driver], classOf[BrokenDriver].getName)(login()))
    assert(error.getMessage == "connects")
  }

  test("if no driver accepts a URL, the error names those that cannot be linked") {
    val error = intercept[EpochalException](withServices(classOf[Driver])(login()))
    assert(error.condition == Conditions.DriverMissing)
    assert(error.getMessage.contains("no.such.Service") && error.getMessage.contains("Corrupt"), error.getMessage)
  }

  private val dialects =
    Seq(classOf[JdbcDialect] -> classOf[BrokenJdbcDialect], classOf[Dialect] -> classOf[BrokenDialect])

  dialects.foreach { case (service, broken) =>
    def dialectOf(url: String): Option[Dialect] =
      withServices(service, broken.getName, classOf[BrokenDriver].getName)(Dialects.of(url))

    test(s"a ${service.getSimpleName} that cannot be loaded does not keep other dialects from being used") {
      assert(dialectOf("jdbc:postgresql://127.0.0.1/x").exists(_.isInstanceOf[PostgresDialect]))
      assert(dialectOf("jdbc:h2:mem:registered").exists(_.isInstanceOf[RegisteredDialect]))
      assert(dialectOf("jdbc:h2:mem:dialect1").exists(_.isInstanceOf[AuthoredDialect]))
    }

    test(s"for a URL of no dialect, the error names each ${service.getSimpleName} that cannot be loaded, and why") {
      val error = intercept[EpochalException](dialectOf("jdbc:broken:x"))
      assert(error.condition == Conditions.ModeUnsupported)
      Seq("no.such.Service", "Corrupt", broken.getName, "no Token", classOf[BrokenDriver].getName, "not a subtype")
        .foreach(part => assert(error.getMessage.contains(part), error.getMessage))
    }
  }

  Seq[(String, () => Nothing)](
    "NoClassDefFoundError" -> (() => throw new NoClassDefFoundError("no Token")),
    "ExceptionInInitializerError" -> (() => throw new ExceptionInInitializerError("no Token")),
    "SQLException" -> (() => throw new SQLException("cannot open", new UnsatisfiedLinkError("no Token")))
  ).foreach { case (name, failure) =>
    test(s"a driver that throws $name at each login is unusable") {
      BrokenDriver.failure = failure
      val texts = Logins.attempts("jdbc:broken:x", "driver" -> classOf[BrokenDriver].getName)
      assert(texts.size == 3)
      texts.foreach { text =>
        assert(text.startsWith(s"[EPOCHAL.DRIVER_UNUSABLE] The JDBC driver ${classOf[BrokenDriver].getName} "), text)
        assert(text.contains("no Token"))
      }
    }
  }
}

/** Logs in as a query's checks, the query itself, and its tasks do; one line of output for each. */
object Logins {
  def main(arguments: Array[String]): Unit = attempts(arguments.head).foreach(println)

  def attempts(url: String, more: (String, String)*): Seq[String] = {
    val options = JdbcOptions.read(Map("url" -> url, "dbtable" -> "t") ++ more).fold(throw _, identity)
    val database = new Database(Dialects.of(url).get, options, () => ())
    Seq[() => Any](
      () => database.inspect(_ => ()),
      () => database.onConnection("a test")(_ => ()),
      () => database.retrying("a test")(Using.resource(database.lend())(_ => ()))).map { login =>
      val begun = System.nanoTime()
      Try(login()) match {
        case Success(_)                                            => "connected"
        case Failure(_) if System.nanoTime() - begun > 4000000000L => "late"
        case Failure(error) => EpochalException.in(error).fold(error.toString)(_.getMessage)
      }
    }
  }
}

final class BrokenDriver extends Driver {
  override def acceptsURL(url: String): Boolean = url.startsWith("jdbc:broken:")
  override def connect(url: String, properties: Properties): Connection = BrokenDriver.failure()
  override def getPropertyInfo(url: String, properties: Properties): Array[DriverPropertyInfo] = Array.empty
  override def getMajorVersion: Int = 1
  override def getMinorVersion: Int = 0
  override def jdbcCompliant(): Boolean = false
  override def getParentLogger: Logger = Logger.getGlobal
}

final class BrokenDialect extends GenericDialect {
  BrokenDialect.fail()
}

final class BrokenJdbcDialect extends JdbcDialect {
  BrokenDialect.fail()
  override def name: String = "broken"
  override def handles(url: String): Boolean = false
}

private object BrokenDialect {
  def fail(): Unit = throw new IllegalStateException("no Token")
}

object BrokenDriver {
  @volatile var failure: () => Nothing = () => throw new SQLException("none")
}
