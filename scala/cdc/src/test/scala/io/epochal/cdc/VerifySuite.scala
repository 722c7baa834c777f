package io.epochal.cdc

import scala.util.Using

import io.epochal.core.error.Conditions
import io.epochal.core.failpoint.Failpoints
import io.epochal.support.Collected

/** The rows of a table are delivered to be compared with a replica. */
final class VerifySuite extends CdcQueries {
  private val verify = "SELECT pg_logical_emit_message(true, 'epochal', 'verify public.orders')"

  test("the rows of a table, and the changes since they were read, are a transaction and a batch of their own") {
    Using.resource(new Shop) { shop =>
      withTempDir { dir =>
        shop.run("INSERT INTO orders SELECT i, 'old ' || i FROM generate_series(1, 3) i")
        val options = Seq("verify" -> "compare", "onTruncate" -> "emit", "maxRowsPerBatch" -> "2")
        stopped(start(shop.read(options: _*), "cdc_verify", dir.toString)) {
          val query = spark.streams.active.head
          until(query)(assert(changes("cdc_verify").size == 3))
          whileCopied(query, shop, verify) {
            shop.run(
              "UPDATE orders SET note = 'meanwhile' WHERE id = 1",
              "DELETE FROM orders WHERE id = 2",
              "UPDATE orders SET id = 30 WHERE id = 3")
            until(query)(assert(changes("cdc_verify").size == 7))
          }
          until(query)(assert(changes("cdc_verify").size == 16))
          shop.run("INSERT INTO orders VALUES (5, 'later')")
          until(query)(assert(changes("cdc_verify").size == 17))
          val rows = changes("cdc_verify").slice(7, 16)
          assert(rows.head == ("verify_begin", null, null))
          assert(rows.slice(1, 4).toSet == (1 to 3).map(i => ("verify", i, s"old $i")).toSet)
          assert(
            rows.drop(4) == Seq(
              ("verify_update", 1, "meanwhile"),
              ("verify_delete", 2, null),
              ("verify_delete", 3, null),
              ("verify", 30, "old 3"),
              ("verify_end", null, null)))
          val commits = Collected.of("cdc_verify").map(_.getAs[String]("_commit_version").takeWhile(_ != '/'))
          assert(commits.slice(7, 16).distinct.size == 1)
          // The limit counts for other rows.
          val sizes = query.recentProgress.map(_.numInputRows).filter(_ > 0)
          assert(sizes.contains(9L) && sizes.filter(_ != 9L).forall(_ <= 2L))
          until(query)(assert(reloadFiles(dir).isEmpty))
          whileCopied(query, shop, verify)(shop.run("TRUNCATE orders", "INSERT INTO orders VALUES (4, 'new')"))
          until(query) {
            assert(
              changes("cdc_verify").drop(17) == Seq(
                ("truncate", null, null),
                ("insert", 4, "new"),
                ("verify_begin", null, null),
                ("verify", 4, "new"),
                ("verify_end", null, null)))
          }
        }
      }
    }
  }

  test("each interval a table is verified, or repaired, also by runs that end") {
    Using.resource(new Shop) { shop =>
      withTempDir { dir =>
        shop.run("INSERT INTO orders VALUES (1, 'a')")
        def run(name: String, interval: String, verify: String = "compare"): Seq[Any] = {
          availableNow(shop, name, dir, "verify" -> verify, "verifyInterval" -> interval)
          changes(name).map(_._1)
        }
        val compared = Seq("verify_begin", "verify", "verify_end")
        assert(run("cdc_daily", "1 day") == Seq("insert"))
        assert(run("cdc_daily_again", "1 day").isEmpty)
        assert(run("cdc_often", "1 ms") == compared)
        assert(run("cdc_often_again", "1 ms") == compared)
        assert(run("cdc_repair", "1 ms", "repair") == compared.init :+ "verify_repair")
        assert(run("cdc_daily_last", "1 day").isEmpty)
        assert(reloadFiles(dir).size == 1 && reloadFiles(dir).head.endsWith(".verified"))
        // A request of another purpose is forgotten.
        Failpoints.arm("reload.complete=fail")
        shop.run(verify)
        try intercept[Exception](run("cdc_unwanted", "1 day", "repair")): Unit
        finally Failpoints.disarm()
        assert(reloadFiles(dir).exists(_.endsWith("r.request")))
        shop.run(verify)
        // The server may send the first request again.
        assert(run("cdc_requested", "1 day").takeRight(6).toSet == compared.toSet)
      }
    }
  }

  test("a running query verifies its table again and again") {
    Using.resource(new Shop) { shop =>
      withTempDir { dir =>
        shop.run("INSERT INTO orders VALUES (1, 'a')")
        val options = Seq("verify" -> "compare", "verifyInterval" -> "100 ms")
        stopped(start(shop.read(options: _*), "cdc_verify_often", dir.toString)) {
          until(spark.streams.active.head)(assert(changes("cdc_verify_often").count(_._1 == "verify_end") >= 3))
        }
      }
    }
  }

  test("rows to compare are a batch of their own while the table changes all the time") {
    Using.resource(new Shop) { shop =>
      withTempDir { dir =>
        shop.run("INSERT INTO orders SELECT i, 'a' FROM generate_series(1, 3000) i")
        val options = Seq("verify" -> "compare", "verifyInterval" -> "100 ms", "maxRowsPerBatch" -> "100")
        stopped(start(shop.read(options: _*), "cdc_verify_busy", dir.toString)) {
          val query = spark.streams.active.head
          until(query)(assert(changes("cdc_verify_busy").size >= 3000))
          var id = 10000
          until(query) {
            (1 to 20).foreach { _ =>
              id += 1
              shop.run(s"INSERT INTO orders VALUES ($id, 'b')")
            }
            assert(changes("cdc_verify_busy").count(_._1 == "verify_end") >= 5)
          }
          val kinds = changes("cdc_verify_busy").map(_._1)
          val rows = kinds.lastIndexOf("verify_end") - kinds.lastIndexOf("verify_begin") + 1
          until(query)(assert(query.recentProgress.map(_.numInputRows).contains(rows.toLong)))
          assert(query.recentProgress.map(_.numInputRows).filter(_ > 100).forall(_ > 3000))
        }
      }
    }
  }

  test("without verify a request is ignored, and its other options are refused") {
    Using.resource(new Shop) { shop =>
      withTempDir { dir =>
        shop.run("INSERT INTO orders VALUES (1, 'a')")
        availableNow(shop, "cdc_verify_off", dir)
        shop.run(verify)
        availableNow(shop, "cdc_verify_off", dir)
        assert(changes("cdc_verify_off").map(_._1) == Seq("insert") && reloadFiles(dir).isEmpty)
        val error = refused(Conditions.OptionConflict)(shop.read("verifyInterval" -> "1 day"))
        assert(error.getMessage.contains("verifyInterval"))
      }
    }
  }

  for (step <- Seq("reload.requested", "reload.complete", "capture.changes", "reload.stored"))
    test(s"after an error at $step the rows to compare are delivered, whole") {
      Using.resource(new Shop) { shop =>
        withTempDir { dir =>
          // More than a frame.
          shop.run("INSERT INTO orders SELECT i, repeat('x', 200) FROM generate_series(1, 20000) i")
          val name = s"cdc_verify_${step.replace('.', '_')}"
          availableNow(shop, name, dir, "verify" -> "compare")
          shop.run(verify)
          Failpoints.arm(s"$step=fail@${if (step == "capture.changes") 2 else 1}")
          try intercept[Exception](availableNow(shop, name, dir, "verify" -> "compare")): Unit
          finally Failpoints.disarm()
          shop.run("INSERT INTO orders VALUES (0, 'later')")
          availableNow(shop, name, dir, "verify" -> "compare")
          val again = changes(name).drop(20000).filter(_._2 != 0)
          assert(again.map(_._1).count(_ == "verify_end") == 1)
          assert(again.count(_._1 == "verify") == 20000)
        }
      }
    }

  test("a comparison that fails does not end the query") {
    Using.resource(new Shop) { shop =>
      withTempDir { dir =>
        val role = s"${shop.name}_reader"
        shop.run(
          "INSERT INTO orders VALUES (1, 'a')",
          s"CREATE ROLE $role LOGIN REPLICATION",
          s"GRANT SELECT ON orders TO $role",
          s"CREATE PUBLICATION ${shop.name} FOR TABLE orders")
        try {
          val own = Seq("url" -> shop.url.replaceFirst("user=[^&]*", s"user=$role"), "verify" -> "compare")
          stopped(start(shop.read(own: _*), "cdc_verify_denied", dir.toString)) {
            val query = spark.streams.active.head
            until(query)(assert(changes("cdc_verify_denied").size == 1))
            shop.run(s"REVOKE SELECT ON orders FROM $role", verify, "INSERT INTO orders VALUES (2, 'b')")
            until(query)(assert(reloadFiles(dir).exists(_.endsWith(".refused"))))
            shop.run(s"GRANT SELECT ON orders TO $role", verify)
            until(query)(assert(changes("cdc_verify_denied").count(_._1 == "verify") == 2))
          }
        } finally shop.run(s"DROP OWNED BY $role", s"DROP ROLE $role")
      }
    }
  }
}
