package io.epochal.cdc

import scala.util.Using

import org.apache.spark.sql.streaming.Trigger

import io.epochal.core.error.Conditions
import io.epochal.support.Collected

/** Which rows of a table a query captures: all of its own, and no others. */
final class CdcRowsSuite extends CdcQueries {

  private def withShop(body: (Shop, String) => Any): Unit =
    Using.resource(new Shop)(shop => withTempDir(dir => body(shop, dir.toString)): Unit)

  private def run(shop: Shop, name: String, checkpoint: String, options: (String, String)*): Unit =
    start(shop.read(options: _*), name, checkpoint, Trigger.AvailableNow()).awaitTermination()

  private def tables(name: String): Seq[(String, String)] =
    Collected.of(name).map(row => row.getAs[String]("_table") -> row.getAs[String]("after"))

  test("a table whose policies hide rows from the role is refused, with the command, unless no row is copied") {
    withShop { (shop, dir) =>
      shop.run(
        s"CREATE ROLE ${shop.name} LOGIN REPLICATION",
        s"GRANT CREATE ON DATABASE ${shop.name} TO ${shop.name}",
        "CREATE TABLE items (id int PRIMARY KEY, note text)",
        s"ALTER TABLE items OWNER TO ${shop.name}",
        "INSERT INTO items SELECT i, 'note' FROM generate_series(1, 10) i",
        "ALTER TABLE items ENABLE ROW LEVEL SECURITY",
        "ALTER TABLE items FORCE ROW LEVEL SECURITY",
        "CREATE POLICY half ON items USING (id <= 5)"
      )
      try {
        val own = Seq("url" -> shop.url.replaceAll("user=[^&]*", s"user=${shop.name}"), "dbtable" -> "items")
        val error = refused(Conditions.CaptureNotReady)(run(shop, "cdc_hidden", s"$dir/hidden", own: _*))
        assert(error.getMessage.contains(s"ALTER ROLE ${shop.name} BYPASSRLS;"))
        run(shop, "cdc_not_copied", s"$dir/latest", own :+ ("startingOffset" -> "latest"): _*)
        shop.run("INSERT INTO items VALUES (11, 'new')")
        run(shop, "cdc_not_copied", s"$dir/latest", own: _*)
        assert(changes("cdc_not_copied") == Seq(("insert", 11, "new")))

        val other = own ++ Seq("slot" -> s"${shop.name}_2", "publication" -> shop.name)
        shop.run(s"ALTER ROLE ${shop.name} BYPASSRLS")
        run(shop, "cdc_all", s"$dir/all", other: _*)
        assert(changes("cdc_all").map(_._2.toString.toInt).sorted == (1 to 11))
        // The rows were copied.
        shop.run(s"ALTER ROLE ${shop.name} NOBYPASSRLS", "INSERT INTO items VALUES (12, 'new')")
        run(shop, "cdc_all_again", s"$dir/all", other: _*)
        assert(changes("cdc_all_again").map(_._2) == Seq(12))
      } finally
        shop.run(
          s"SELECT pg_drop_replication_slot('${shop.name}_2') FROM pg_replication_slots WHERE slot_name = '${shop.name}_2'",
          s"DROP OWNED BY ${shop.name} CASCADE",
          s"DROP ROLE ${shop.name}")
    }
  }

  test("rows and changes of a table are its own, not those of tables that inherit from it") {
    withShop { (shop, dir) =>
      shop.run(
        "INSERT INTO orders VALUES (1, 'own')",
        "CREATE TABLE child (extra text) INHERITS (orders)",
        "INSERT INTO child VALUES (2, 'inherited', 'x')"
      )
      run(shop, "cdc_parent", dir)
      assert(changes("cdc_parent") == Seq(("insert", 1, "own")))
      // Published without a key, it could not be updated.
      shop.run("UPDATE child SET note = 'updated'", "UPDATE orders SET note = note || '!'")
      run(shop, "cdc_parent_again", dir)
      assert(changes("cdc_parent_again") == Seq(("update_postimage", 1, "own!")))
    }
  }

  test("a schema with inheritance delivers each row once") {
    withShop { (shop, dir) =>
      shop.run(
        "INSERT INTO orders VALUES (1, 'own')",
        "CREATE TABLE child (PRIMARY KEY (id)) INHERITS (orders)",
        "INSERT INTO child VALUES (2, 'inherited')",
        "CREATE TABLE parted (id int PRIMARY KEY) PARTITION BY RANGE (id)",
        "CREATE TABLE parted_1 PARTITION OF parted DEFAULT",
        "INSERT INTO parted VALUES (3)"
      )
      run(shop, "cdc_inherited", dir, "dbtable" -> "public.*")
      assert(
        tables("cdc_inherited").sorted == Seq(
          "public.child" -> """{"id":2,"note":"inherited"}""",
          "public.orders" -> """{"id":1,"note":"own"}""",
          "public.parted" -> """{"id":3}"""
        ))
      shop.run("UPDATE orders SET note = 'new' WHERE id = 2")
      run(shop, "cdc_inherited_again", dir, "dbtable" -> "public.*")
      assert(tables("cdc_inherited_again") == Seq("public.child" -> """{"id":2,"note":"new"}"""))
    }
  }

  private def adopted(name: String, columns: Int): Map[Any, Any] =
    Collected.of(name).map(row => row.get(0) -> row.get(columns)).toMap

  /** The statement of the refusal. */
  private def update(shop: Shop, name: String, checkpoint: String): String = {
    val error = refused(Conditions.TableChanged)(run(shop, name, checkpoint, "onSchemaChange" -> "adopt"))
    "UPDATE [^;]*".r.findFirstIn(error.getMessage).getOrElse(fail(error.getMessage))
  }

  for ((kind, more) <- Seq(
      "int DEFAULT 5" -> Nil,
      "int DEFAULT 5" -> Seq("ALTER TABLE orders ALTER added DROP DEFAULT"),
      "float DEFAULT random()" -> Nil,
      "float DEFAULT random()" -> Seq("ALTER TABLE orders ALTER added DROP DEFAULT"),
      "serial" -> Nil,
      "int GENERATED ALWAYS AS IDENTITY" -> Nil,
      "five" -> Nil
    ))
    test(
      s"a column ${(kind +: more.map(_ => "without its DEFAULT")).mkString(", ")} is adopted after old rows are in the log") {
      withShop { (shop, dir) =>
        val name = s"cdc_adopted_${kind.hashCode}_${more.size}"
        shop.run("CREATE DOMAIN five AS int DEFAULT 5", "INSERT INTO orders VALUES (1, 'a'), (2, 'b')")
        run(shop, name, dir, "onSchemaChange" -> "adopt")
        shop.run(s"ALTER TABLE orders ADD added $kind" +: more :+ "INSERT INTO orders (id) VALUES (3)": _*)
        shop.run(update(shop, name, dir))
        run(shop, s"${name}_again", dir, "onSchemaChange" -> "adopt")
        val values = adopted(s"${name}_again", 2)
        assert(values.keySet == Set(1, 2, 3))
        Seq(1, 2).foreach(id => assert(values(id).toString == shop.text(s"SELECT added FROM orders WHERE id = $id")))
      }
    }

  test(
    "a column whose old rows are NULL is adopted as it is, also with a later DEFAULT, and with old rows of partitions") {
    withShop { (shop, dir) =>
      shop.run(
        "DROP TABLE orders",
        "CREATE TABLE orders (id int PRIMARY KEY, note text) PARTITION BY RANGE (id)",
        "CREATE TABLE orders_1 PARTITION OF orders FOR VALUES FROM (0) TO (10)",
        "CREATE TABLE orders_2 PARTITION OF orders DEFAULT",
        "INSERT INTO orders VALUES (1, 'a'), (20, 'b')"
      )
      run(shop, "cdc_adopt_null", dir, "onSchemaChange" -> "adopt")
      shop.run(
        "ALTER TABLE orders ADD added int",
        "ALTER TABLE orders ALTER added SET DEFAULT 7",
        "INSERT INTO orders (id) VALUES (30)")
      run(shop, "cdc_adopt_null_again", dir, "onSchemaChange" -> "adopt")
      assert(adopted("cdc_adopt_null_again", 2) == Map(30 -> 7))
      shop.run("ALTER TABLE orders ADD more int DEFAULT 8")
      val sql = update(shop, "cdc_adopt_parts", dir)
      assert(sql == "UPDATE public.orders SET more = more")
      shop.run(sql)
      run(shop, "cdc_adopt_parts_again", dir, "onSchemaChange" -> "adopt")
      assert(adopted("cdc_adopt_parts_again", 3) == Map(1 -> 8, 20 -> 8, 30 -> 8))
    }
  }

  test("a column of a table that VACUUM FULL has rewritten is adopted as it is if its values are in the log") {
    withShop { (shop, dir) =>
      shop.run("INSERT INTO orders VALUES (1, 'a'), (2, 'b')", "VACUUM FULL orders")
      run(shop, "cdc_adopt_copied", dir, "onSchemaChange" -> "adopt")
      shop.transaction("ALTER TABLE orders ADD added int", "UPDATE orders SET added = 8")
      run(shop, "cdc_adopt_copied_again", dir, "onSchemaChange" -> "adopt")
      assert(adopted("cdc_adopt_copied_again", 2) == Map(1 -> 8, 2 -> 8))
    }
  }

  test("a column that is filled by updates, and has its DEFAULT and NOT NULL later, is adopted as it is") {
    withShop { (shop, dir) =>
      shop.run("INSERT INTO orders VALUES (1, 'a'), (2, 'b')")
      run(shop, "cdc_adopt_filled", dir, "onSchemaChange" -> "adopt")
      shop.run(
        "ALTER TABLE orders ADD added int",
        "ALTER TABLE orders ALTER added SET DEFAULT 7",
        "UPDATE orders SET added = 8",
        "ALTER TABLE orders ALTER added SET NOT NULL",
        "INSERT INTO orders (id) VALUES (3)")
      run(shop, "cdc_adopt_filled_again", dir, "onSchemaChange" -> "adopt")
      assert(adopted("cdc_adopt_filled_again", 2) == Map(1 -> 8, 2 -> 8, 3 -> 7))
    }
  }

  // The server keeps such a key apart from its row, and sends it as the old key only.
  for (identity <- Seq("DEFAULT", "FULL", "USING INDEX large_id_code_idx"))
    test(s"an update and a delete have a key of 2,000 bytes and more, with REPLICA IDENTITY $identity") {
      withShop { (shop, dir) =>
        shop.run(
          "CREATE TABLE large (id text PRIMARY KEY, code text NOT NULL, note text)",
          "CREATE UNIQUE INDEX ON large (id, code)",
          s"ALTER TABLE large REPLICA IDENTITY $identity",
          "ALTER TABLE large ALTER id SET STORAGE EXTERNAL",
          "INSERT INTO large VALUES (repeat('k', 2300), 'c', 'old')"
        )
        Seq(Seq("dbtable" -> "large"), Seq("dbtable" -> "large,orders", "slot" -> s"${shop.name}_2")).foreach {
          options =>
            val several = options.size > 1
            def read(name: String) = run(shop, name, s"$dir/$several", options: _*)
            read(s"cdc_large_${identity.head}$several")
            shop.run("UPDATE large SET note = 'new'", "DELETE FROM large")
            val name = s"cdc_large_again_${identity.head}$several"
            read(name)
            val rows = Collected.of(name)
            val key = "k" * 2300
            assert(rows.map(_.getAs[Any]("_unchanged_columns")).forall(_ == null))
            if (several) {
              val (after, before) = (rows.map(_.getAs[String]("after")), rows.map(_.getAs[String]("before")))
              assert(after == Seq(s"""{"id":"$key","code":"c","note":"new"}""", null))
              assert(before.forall(_.startsWith(s"""{"id":"$key"""")))
            } else
              assert(
                rows.map(row => (row.getAs[String]("_change_type"), row.getString(0))) ==
                  Seq("update_postimage" -> key, "delete" -> key))
            shop.run("INSERT INTO large VALUES (repeat('k', 2300), 'c', 'old')")
        }
        shop.run(s"SELECT pg_drop_replication_slot('${shop.name}_2')")
      }
    }
}
