package io.epochal.jdbc.option

import java.sql.SQLException

import org.scalatest.funsuite.AnyFunSuite

import io.epochal.core.error.{Condition, Conditions}
import io.epochal.kit.database.TableName

final class JdbcOptionsSuite extends AnyFunSuite {

  private val least = Map("url" -> "jdbc:sqlite:x.db", "dbtable" -> "t")
  private def read(more: (String, String)*): JdbcOptions = JdbcOptions.read(least ++ more).fold(throw _, identity)
  private def refused(condition: Condition)(more: (String, String)*): Unit =
    assert(JdbcOptions.read(least ++ more).left.map(_.condition.name) == Left(condition.name))

  test("keyColumns alone means upsert; mode overrides it") {
    assert(!read().upsert)
    assert(read("keyColumns" -> "a, b").upsert && read("keyColumns" -> "a, b").keyColumns == Seq("a", "b"))
    assert(!read("keyColumns" -> "a", "mode" -> "append").upsert)
    refused(Conditions.KeyColumnsRequired)("mode" -> "upsert")
    refused(Conditions.OptionConflict)("orderColumn" -> "a")
    refused(Conditions.ModeUnsupported)("asyncProgressTrackingEnabled" -> "true")
    refused(Conditions.ModeUnsupported)("_asyncProgressTrackingOverrideSinkSupportCheck" -> "true")
    refused(Conditions.OptionInvalid)("sinkId" -> "batch:comments")
  }

  test("a table's name has one or two parts, each plain or quoted") {
    def parts(text: String): Option[Seq[(String, Boolean)]] =
      TableName.parse(text).map(name => (name.schema.toSeq :+ name.table).map(p => (p.text, p.quoted)))
    assert(parts("t").contains(Seq("t" -> false)))
    assert(parts(" s.t ").contains(Seq("s" -> false, "t" -> false)))
    assert(parts("\"S.x\".\"t\"\"u\"").contains(Seq("S.x" -> true, "t\"u" -> true)))
    assert(parts("s.\"T\"").contains(Seq("s" -> false, "T" -> true)))
    Seq("", "a.b.c", "a b", "\"a", "a.", ".a", "\"\"").foreach(text => assert(parts(text).isEmpty, text))
  }

  test("no secret is printed, and driver errors reveal none") {
    val options = read(
      "password" -> "hunter22",
      "connection.sslpassword" -> "open sesame",
      "url" -> "jdbc:postgresql://me:pw12345@h/d?password=abcdef")
    val printed = options.toString + options.connection.place
    Seq("hunter22", "sesame", "pw12345", "abcdef").foreach(secret => assert(!printed.contains(secret)))
    val error = options.connection.redact(
      new SQLException("no login with hunter22 for jdbc:postgresql://me:pw12345@h/d?password=abcdef", "28000"))
    Seq("hunter22", "pw12345", "abcdef").foreach(secret => assert(!error.getMessage.contains(secret)))
    assert(error.getSQLState == "28000")
  }
}
