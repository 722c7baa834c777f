package io.epochal.testkit.example

import java.nio.file.Files
import java.sql.DriverManager
import java.{lang, util}

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.scalatest.tags.Slow

import io.epochal.testkit.connector.SqliteSink
import io.epochal.testkit.{FormatSink, SinkConformance}

@Slow
final class IdsSuite extends SinkConformance {
  override def sinkName: String = "ids"
  override def newFixture(): FormatSink = new IdsFixture
}

final class IdsFixture extends FormatSink("io.epochal.testkit.connector.SqliteSink") {
  private val path = Files.createTempDirectory("ids").resolve("ids.db").toString
  SqliteSink.create(path)

  override def options: util.Map[String, String] = util.Map.of("path", path)

  override def exemptions: util.Map[String, String] =
    util.Map.of("continuous", "it does not see the trigger", "real-time", "it does not see the trigger")

  override def stored(): util.List[lang.Long] =
    Using.resource(DriverManager.getConnection(SqliteSink.url(path)))(SqliteSink.ids).map(lang.Long.valueOf(_)).asJava
}
