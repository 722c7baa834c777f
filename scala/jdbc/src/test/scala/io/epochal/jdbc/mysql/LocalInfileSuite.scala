package io.epochal.jdbc.mysql

import java.io.{ByteArrayInputStream, InputStream}
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Files
import java.sql.{Connection, DriverManager, SQLException}
import java.time.Duration

import scala.util.{Try, Using}

import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tags.Slow

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.jdbc.database.ConnectionPool
import io.epochal.jdbc.{FileAskingServer, Mariadb, Mysql8, TestDatabases}
import io.epochal.kit.database.{ConnectionSettings, Sql}

@Slow
final class MariadbLocalInfileSuite extends LocalInfiles(Mariadb, "")
@Slow
final class Mysql8LocalInfileSuite extends LocalInfiles(Mysql8, "&sslMode=DISABLED")

/** A server gets no file of the client, whatever it answers to which statement. */
abstract class LocalInfiles(databases: TestDatabases, more: String) extends AnyFunSuite {

  private val secret = "the client's secret"

  private def settings(url: String): ConnectionSettings = ConnectionSettings(url, None, None, None, Map.empty)

  /** @param body
    *   the server, the URL for the sink's connections, and the path of the secret
    */
  private def asked(asks: String => Int)(body: (FileAskingServer, String, String) => Unit): Unit = {
    val database = databases.newDatabase()
    val file = Files.writeString(Files.createTempFile("epochal", ".txt"), secret)
    try {
      val port = ":(\\d+)/".r.findFirstMatchIn(database.url).get.group(1).toInt
      Using.resource(new FileAskingServer(port, file.toString)(asks)) { server =>
        body(server, server.url(database.url) + more, file.toString)
        assert(!server.received.exists(_.contains(secret)))
      }
    } finally {
      Files.delete(file)
      database.close()
    }
  }

  private def connected(url: String)(body: Connection => Unit): Unit =
    new ConnectionPool(settings(url), MysqlDialect, Duration.ofSeconds(5)).outside(body)

  test(s"${databases.kind}: a statement of the driver itself is answered by a request for a file") {
    asked(_ => 1) { (server, url, _) =>
      assert(Try(connected(url)(_ => ())).isFailure || server.received.forall(_.isEmpty))
      assert(server.received.nonEmpty)
    }
  }

  test(s"${databases.kind}: a statement of the sink is answered by a request for a file") {
    asked(sql => if (sql.contains("marker")) 1 else 0) { (server, url, _) =>
      connected(url) { connection =>
        Try(Sql.query(connection, "SELECT 'marker'")(_.getString(1)))
        Try(Sql.run(connection, "SET @marker = 1"))
        ()
      }
      assert(server.received.nonEmpty && server.received.forall(_.isEmpty))
    }
  }

  test(s"${databases.kind}: LOAD DATA LOCAL sends its stream once, and no file, however often it is asked") {
    asked(sql => if (sql.startsWith("LOAD DATA")) 3 else 0) { (server, url, path) =>
      connected(url) { connection =>
        val lines = new ByteArrayInputStream("1\n2\n".getBytes(UTF_8))
        Try(LocalInfile.execute(connection, s"LOAD DATA LOCAL INFILE '$path' INTO TABLE t", lines)): Unit
        assert(server.received.head == "1\n2\n" && server.received.tail.forall(_.isEmpty), server.received)
      }
    }
  }

  test(
    s"${databases.kind}: the error of a load that loses its connection is thrown, and none of what is done afterwards") {
    val database = databases.newDatabase()
    val allowed = database.one("SELECT @@GLOBAL.local_infile")
    try
      connected(database.url + more) { connection =>
        database.execute("SET GLOBAL local_infile = 1", "CREATE TABLE t (id BIGINT)")
        val session = Sql.query(connection, "SELECT CONNECTION_ID()")(_.getLong(1)).head
        val endless = new InputStream {
          private var count = 0L
          override def read(): Int = {
            if (count == 0) database.execute(s"KILL $session")
            count += 1
            if (count % 2 == 0) '\n' else '1'
          }
        }
        val load = "LOAD DATA LOCAL INFILE 'rows' INTO TABLE t"
        val error = intercept[SQLException](LocalInfile.execute(connection, load, endless))
        assert(MysqlErrors.losesConnection(error), error)
      }
    finally {
      database.execute(s"SET GLOBAL local_infile = $allowed")
      database.close()
    }
  }

  test(s"${databases.kind}: a connection that allows files would send them") {
    asked(sql => if (sql.contains("marker")) 1 else 0) { (server, url, path) =>
      val open = url + "&allowLocalInfile=true&allowLoadLocalInfile=true"
      Using.resource(DriverManager.getConnection(open)) { connection =>
        Try(Sql.run(connection, s"LOAD DATA LOCAL INFILE '$path' INTO TABLE marker")): Unit
      }
      assert(server.received == Seq(secret))
      server.forget()
    }
  }

  test(s"${databases.kind}: a name that asks for a file is refused") {
    val error = intercept[EpochalException](MysqlDialect.quote("x LOAD DATA local \n infile '/etc/passwd'"))
    assert(error.condition == Conditions.ModeUnsupported)
    assert(MysqlDialect.quote("local infile".reverse).nonEmpty)
  }

  test(s"${databases.kind}: a user's setting of the property is kept") {
    def properties(url: String, more: (String, String)*): Map[String, String] =
      MysqlDialect.properties(settings(url).copy(properties = more.toMap), Duration.ofSeconds(5))
    val url = databases.kind match {
      case "MariaDB" => "jdbc:mariadb://db/shop"
      case _         => "jdbc:mysql://db/shop"
    }
    assert(!properties(s"$url?allowLocalInfile=false").contains("allowLoadLocalInfileInPath"))
    assert(properties(url, "allowLoadLocalInfile" -> "false").get("allowLocalInfile").contains("false"))
    assert(!properties(url, "allowLoadLocalInfile" -> "false").contains("allowLoadLocalInfileInPath"))
  }
}
