package io.epochal.cdc

import scala.util.Using

import io.epochal.core.error.Conditions

/** Names that SQL, the replication protocol or a URL would read as something else. */
final class QuotedNamesSuite extends CdcQueries {

  private val hostile = """it's "x"\\ %41 $1 é"""

  private def quoted(name: String): String = "\"" + name.replace("\"", "\"\"") + "\""

  Seq("it's", hostile, "select").foreach { name =>
    test(s"role, schema, table, column and publication may be named: $name") {
      Using.resource(new Shop) { shop =>
        val (role, table) = (s"${shop.name} $name", s"${quoted(name)}.${quoted(name)}")
        shop.run(
          s"CREATE ROLE ${quoted(role)} SUPERUSER LOGIN PASSWORD '${name.replace("'", "''")}'",
          s"CREATE SCHEMA ${quoted(name)}",
          s"CREATE TABLE $table (${quoted(name)} int PRIMARY KEY, note text)",
          s"INSERT INTO $table VALUES (1, 'a')"
        )
        withTempDir { dir =>
          val frame = shop.read("dbtable" -> table, "publication" -> name, "user" -> role, "password" -> name)
          assert(frame.columns.head == name)
          stopped(start(frame, "cdc_names", dir.toString)) {
            val query = spark.streams.active.head
            until(query)(assert(changes("cdc_names") == Seq(("insert", 1, "a"))))
            shop.run(s"INSERT INTO $table VALUES (2, 'b')")
            until(query)(assert(changes("cdc_names").drop(1) == Seq(("insert", 2, "b"))))
          }
        }
        shop.run(s"DROP TABLE $table", s"DROP ROLE ${quoted(role)}")
      }
    }
  }

  test("a name that the server would cut is refused before anything is read") {
    val error = refused(Conditions.OptionInvalid)(CdcOptions.read(
      Map("url" -> "jdbc:postgresql://127.0.0.1/x", "dbtable" -> "t", "publication" -> "é" * 32)).fold(throw _, identity))
    assert(error.values("name") == "publication")
  }
}
