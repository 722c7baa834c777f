package io.epochal.cdc

import scala.util.Using

import io.epochal.core.error.Conditions

/** Names that SQL, the replication protocol or a URL would read as something else. */
final class QuotedNamesSuite extends CdcQueries {

  private val hostile = """it's "x"\\ %41 $1 é"""

  private def quoted(name: String): String = "\"" + name.replace("\"", "\"\"") + "\""

  Seq("it's", hostile, "select", "part", "next").zipWithIndex.foreach { case (name, number) =>
    test(s"role, schema, table, column and publication may be named: $name") {
      Using.resource(new Shop) { shop =>
        val query = s"cdc_names_$number"
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
          stopped(start(frame, query, dir.toString)) {
            val running = spark.streams.active.head
            until(running)(assert(changes(query) == Seq(("insert", 1, "a"))))
            shop.run(s"INSERT INTO $table VALUES (2, 'b')")
            until(running)(assert(changes(query).drop(1) == Seq(("insert", 2, "b"))))
          }
        }
        shop.run(s"DROP TABLE $table", s"DROP ROLE ${quoted(role)}")
      }
    }
  }

  test("a name that the server would truncate is refused before anything is read") {
    def read(publication: String) =
      CdcOptions.read(Map("url" -> "jdbc:postgresql://127.0.0.1/x", "dbtable" -> "t", "publication" -> publication))
    assert(read("é" * 31).isRight)
    assert(read("é" * 32).left.exists(_.condition == Conditions.OptionInvalid))
  }
}
