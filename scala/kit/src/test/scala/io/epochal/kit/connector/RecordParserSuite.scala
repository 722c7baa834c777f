package io.epochal.kit.connector

import java.nio.charset.StandardCharsets.UTF_8
import java.util

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.option.OptionSpec

/** Records of a connector whose origin delivers bytes. */
final class RecordParserSuite extends AnyFunSuite {

  private def settings(options: (String, String)*): Settings = new Texts().settings(options.toMap)

  private def rows(records: Seq[String], options: (String, String)*): Seq[Seq[Any]] = {
    val chosen = settings(options: _*)
    val schema = new Texts().schema(chosen)
    val bytes = records.iterator.map(_.getBytes(UTF_8))
    val reader = RecordParser.rows(chosen, schema, () => if (bytes.hasNext) bytes.next() else null, () => ())
    Iterator.continually(reader).takeWhile(_.next()).map(one => texts(one.get(), schema)).toList
  }

  private def texts(row: InternalRow, schema: StructType): Seq[Any] = row.toSeq(schema).map {
    case null  => null
    case value => value.toString
  }

  private def refused(body: => Any): String = EpochalException.in(intercept[Exception](body)).get.condition.name

  test("JSON records become rows; a misfit goes, unchanged, into the column that the schema lacked") {
    assert(
      rows(Seq("""{"id":1,"name":"a"}""", """{"id":"x"}"""), "schema" -> "id INT, name STRING") == Seq(
        Seq("1", "a", null),
        Seq(null, null, """{"id":"x"}""")))
  }

  test("CSV records become rows, split by the separator") {
    assert(
      rows(Seq("1;a", "2;b"), "schema" -> "id INT, name STRING", "format" -> "csv", "sep" -> ";")
        .map(_.take(2)) == Seq(Seq("1", "a"), Seq("2", "b")))
  }

  test("parseMode drops a misfit, or fails the query; an option keeps fields without a column") {
    val records = Seq("""{"id":1,"more":2}""", "no JSON")
    assert(rows(records, "schema" -> "id INT", "parseMode" -> "DROPMALFORMED") == Seq(Seq("1")))
    assert(refused(rows(records, "schema" -> "id INT", "parseMode" -> "FAILFAST")) == Conditions.RecordInvalid.name)
    assert(
      rows(records.take(1), "schema" -> "id INT", "rescuedDataColumn" -> "rest").map(_.last) == Seq("""{"more":2}"""))
  }

  test("a missing or invalid schema is rejected before a query starts") {
    assert(refused(new Texts().schema(settings())) == Conditions.OptionRequired.name)
    assert(refused(new Texts().schema(settings("schema" -> "id NONE"))) == Conditions.SchemaInvalid.name)
    assert(refused(new Texts().schema(settings("schema" -> "id INT", "sep" -> ";"))) == Conditions.OptionConflict.name)
  }
}

/** A connector of records, for its columns only. */
final class Texts extends SourceConnector[java.lang.Long]("texts", "Records.", Texts.options) {
  override def schema(settings: Settings): StructType = RecordParser.schema(settings)
  override def identity(settings: Settings): String = "texts"
  override def positions: PositionFormat[java.lang.Long] = PositionFormat.number()
  override def open(settings: Settings, schema: StructType): Origin[java.lang.Long] =
    throw new UnsupportedOperationException("open")
}

object Texts {
  private val options: util.List[OptionSpec[_]] = RecordParser.options.asScala.toSeq.asJava
}
