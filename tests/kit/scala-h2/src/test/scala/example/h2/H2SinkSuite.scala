package example.h2

import java.nio.file.Files
import java.sql.DriverManager
import java.{lang, util}

import scala.jdk.CollectionConverters._
import scala.util.Using.resource

import io.epochal.testkit.{FormatSink, SinkConformance}

/** A test for each promise of a sink. */
final class H2SinkSuite extends SinkConformance {
  override def sinkName: String = "h2"
  override def newFixture(): FormatSink = new H2Fixture
}

/** A database of its own. Its first process serves the others: the tests read while the query writes. */
final class H2Fixture extends FormatSink("h2") {
  private val file = Files.createTempDirectory("h2").resolve("ids").toString + ";AUTO_SERVER=TRUE"

  override def options: util.Map[String, String] = util.Map.of("file", file, "table", "ids")

  override def stored(): util.List[lang.Long] = resource(DriverManager.getConnection(s"jdbc:h2:file:$file")) { connection =>
    if (!connection.getMetaData.getTables(null, null, "ids", null).next()) util.List.of()
    else {
      val rows = connection.createStatement().executeQuery("""SELECT "id" FROM "ids"""")
      Iterator.continually(rows).takeWhile(_.next()).map(row => lang.Long.valueOf(row.getLong(1))).toSeq.asJava
    }
  }
}
