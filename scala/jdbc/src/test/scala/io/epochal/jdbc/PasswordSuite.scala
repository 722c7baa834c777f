package io.epochal.jdbc

import java.io.DataInputStream
import java.net.{InetAddress, ServerSocket}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Files
import java.sql.SQLException

import scala.concurrent.ExecutionContext.Implicits.global
import scala.concurrent.duration._
import scala.concurrent.{Await, Future}
import scala.util.Using

import org.scalatest.funsuite.AnyFunSuite

import io.epochal.core.error.{Condition, Conditions, EpochalException}
import io.epochal.jdbc.database.{Database, DriverErrors}
import io.epochal.jdbc.dialect.Dialects
import io.epochal.jdbc.generic.GenericErrors
import io.epochal.jdbc.mysql.MysqlDialect
import io.epochal.jdbc.option.JdbcOptions
import io.epochal.jdbc.postgres.PostgresDialect
import io.epochal.kit.access.Secret

final class PasswordSuite extends AnyFunSuite {

  private val h2 = "jdbc:h2:mem:password;DB_CLOSE_DELAY=-1"
  private val secret = "s3cret in a file"

  private def options(more: (String, String)*): JdbcOptions =
    JdbcOptions.read(Map("url" -> h2, "dbtable" -> "t", "user" -> "me") ++ more).fold(throw _, identity)

  private def refused(condition: Condition)(body: => Any): EpochalException = {
    val error = intercept[EpochalException](body)
    assert(error.condition.name == condition.name, error.getMessage)
    error
  }

  /** Logs in as a query does before it starts. */
  private def look(more: (String, String)*): Unit = {
    val checked = options(more: _*)
    new Database(Dialects.of(checked.connection.url).get, checked, () => ()).inspect(_ => ())
  }

  test("the password is read from a file for every connection, without the trailing line break") {
    val file = Files.createTempFile("epochal", "password")
    val keeper = java.sql.DriverManager.getConnection(h2, "me", secret)
    try
      Seq(secret, s"$secret\n", s"$secret\r\n").foreach { text =>
        Files.writeString(file, text)
        look("passwordFile" -> file.toString)
        Files.writeString(file, s"$text\n\n")
        val error = refused(Conditions.SecretUnreadable)(look("passwordFile" -> file.toString))
        assert(error.getMessage.contains("it has more than one line"))
      }
    finally {
      keeper.createStatement().execute("SHUTDOWN"): Unit
      Files.delete(file)
    }
  }

  test("an unreadable file and an unset variable are refused by name before the query starts") {
    val empty = Files.createTempFile("epochal", "password")
    def place(more: (String, String)): String = refused(Conditions.SecretUnreadable)(look(more)).getMessage
    assert(
      place("passwordFile" -> "/no/such/password").contains("passwordFile=/no/such/password: there is no such file"))
    assert(place("passwordFile" -> empty.toString).contains("it is empty"))
    assert(place("passwordFile" -> empty.getParent.toString).contains("passwordFile="))
    assert(place("passwordEnv" -> "EPOCHAL_NO_SUCH_VARIABLE").contains("passwordEnv=EPOCHAL_NO_SUCH_VARIABLE"))
    Files.delete(empty)
  }

  test("a file that is too large for a secret, or not a regular file, is refused") {
    val file = Files.writeString(Files.createTempFile("epochal", "password"), "x" * (65 << 10))
    def said(path: String): String = refused(Conditions.SecretUnreadable)(look("passwordFile" -> path)).getMessage
    assert(said(file.toString).contains("it has more than 65536 bytes"))
    assert(said("/dev/zero").contains("it is not a regular file"))
    Files.delete(file)
  }

  test("a variable of the driver's environment provides the password") {
    val (name, value) = sys.env.find { case (name, value) => value.length > 5 && name.matches("[A-Z]+") }.get
    assert(Secret.InEnvironment("passwordEnv", name).read() == value)
  }

  test("a server that asks for a password and gets none has refused the login") {
    val request = "R\u0000\u0000\u0000\u0017\u0000\u0000\u0000\nSCRAM-SHA-256\u0000\u0000".getBytes(UTF_8)
    Using.resource(new ServerSocket(0, 1, InetAddress.getLoopbackAddress)) { server =>
      val asking = Future(Using.resource(server.accept()) { client =>
        val in = new DataInputStream(client.getInputStream)
        in.readFully(new Array[Byte](in.readInt() - Integer.BYTES))
        client.getOutputStream.write(request)
        in.read()
      })
      val url = s"jdbc:postgresql://127.0.0.1:${server.getLocalPort}/x?sslmode=disable"
      val error = refused(Conditions.LoginRefused)(look("url" -> url))
      assert(error.markup.contains("{option:password}"))
      Await.ready(asking, 10.seconds)
    }
  }

  test("a refused login is not an unreachable server, whatever the database calls it") {
    def refused(errors: DriverErrors)(state: String, code: Int): Boolean =
      errors.refusesLogin(new SQLException("no", state, code))
    assert(refused(PostgresDialect.errors)("28P01", 0) && !refused(PostgresDialect.errors)("08001", 0))
    assert(!PostgresDialect.errors.refusesLogin(new SQLException("The server does not support SSL.", "08004")))
    Seq("28000" -> 1045, "HY000" -> 1130, "08004" -> 1130, "HY000" -> 4151).foreach { case (state, code) =>
      assert(refused(MysqlDialect.errors)(state, code))
    }
    assert(!refused(MysqlDialect.errors)("08004", 1040))
    Seq("28000" -> 0, "08004" -> 0, "S0001" -> 18456, "72000" -> 1017).foreach { case (state, code) =>
      assert(refused(GenericErrors)(state, code))
    }
    assert(!refused(GenericErrors)("08001", 0))
  }

  test("the password may be set in one place only") {
    Seq("password" -> "a", "passwordFile" -> "b", "passwordEnv" -> "c")
      .combinations(2)
      .foreach(two => refused(Conditions.OptionConflict)(options(two: _*)))
  }

  test("a password from a file appears in no text, even after it was read for the executors") {
    val file = Files.writeString(Files.createTempFile("epochal", "password"), secret)
    val settings = options("passwordFile" -> file.toString).connection
    val said = settings.redact(new SQLException(s"wrong: $secret", "28000")).getMessage
    val resolved = settings.resolved
    assert(resolved.password.map(_.read()).contains(secret))
    Seq(said, settings.toString, settings.password.toString, resolved.toString, resolved.password.toString)
      .foreach(text => assert(!text.contains(secret)))
    Files.delete(file)
    assert(resolved.password.map(_.read()).contains(secret))
  }

  test("tasks that log in themselves use the password that the driver has read") {
    val file = Files.writeString(Files.createTempFile("epochal", "password"), secret)
    val tasks =
      options(
        "url" -> "jdbc:postgresql://127.0.0.1/x",
        "passwordFile" -> file.toString,
        "transport" -> "staged").forTasks
    Files.delete(file)
    assert(tasks.connection.password.map(_.read()).contains(secret))
  }
}
