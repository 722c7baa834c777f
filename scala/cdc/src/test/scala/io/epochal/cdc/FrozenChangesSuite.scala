package io.epochal.cdc

import java.io.File
import java.nio.file.{Files, Path, Paths}

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.commons.io.FileUtils
import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.CatalystTypeConverters
import org.apache.spark.sql.types.{IntegerType, StringType, StructType}

import io.epochal.cdc.change.ScriptedServer
import io.epochal.kit.source.InitialOffset
import io.epochal.support.Collected

/** Checkpoints of earlier releases, in the test resources: each in `frozen/<version>/<name>`, with the rows that the query had
  * delivered. A set is never written again.
  *
  * `EPOCHAL_FROZEN=write scripts/sbt "cdc/testOnly *FrozenChangesSuite"` writes those of the release in `version.txt` that are
  * not there.
  */
final class FrozenChangesSuite extends CdcQueries {
  import FrozenChangesSuite._

  Sets.foreach { set =>
    test(s"the changes in a checkpoint of ${Home.relativize(set)} are delivered again, without a server") {
      val copy = Files.createTempDirectory("frozen")
      FileUtils.copyDirectory(set.toFile, copy.toFile)
      val ends = offsets(copy)
      assert(ends.size > 1)
      val end = ends.last
      val isSeveral = end.origin.tables.nonEmpty
      val read = options(isSeveral)
      val schema = if (isSeveral) CdcProvider.GenericRow else CdcProvider.withOwn("orders", Orders)
      val factory = new CdcReaderFactory(read, Map("public.orders" -> ScriptedServer.Columns), schema, store(copy))
      val plan = CapturePlan(read, read.server, tables(end.origin), binary = false)
      val first = end.copy(row = 0)
      val rows = Using.resource(new CdcSource(plan, factory, 1)) { source =>
        source.open(first, end)
        source.supply.partitions(first, end).toSeq.flatMap { partition =>
          val convert = CatalystTypeConverters.createToScalaConverter(schema)
          Using.resource(factory.createReader(partition))(reader =>
            Iterator.continually(reader).takeWhile(_.next()).map(r => shown(convert(r.get()).asInstanceOf[Row])).toList)
        }
      }
      assert(rows == Files.readAllLines(set.resolve(Rows)).asScala.toSeq)
      FileUtils.deleteQuietly(copy.toFile): Unit
    }
  }

  if (sys.env.get("EPOCHAL_FROZEN").contains("write")) {
    freeze("one-table", "preimages" -> "false") { shop =>
      val large = "(SELECT string_agg(md5(i::text), '') FROM generate_series(1, 500) i)"
      shop.run(s"INSERT INTO orders VALUES (3, $large)")
    }
    freeze("several-tables", "dbtable" -> "orders,public.items") { shop =>
      shop.run(
        "CREATE TABLE items (id uuid PRIMARY KEY, code char(4), price numeric, tags text[], doc jsonb)",
        "INSERT INTO items SELECT md5('1')::uuid, 'a', 1.50, '{a,NULL}', '{\"k\": [1.50]}'"
      )
    }
  }

  /** Writes a set from a snapshot, and changes that are delivered in a batch of their own. */
  private def freeze(name: String, more: (String, String)*)(prepare: Shop => Unit): Unit = {
    val place = Home.resolve(Version).resolve(name)
    if (!Files.exists(place)) test(s"writes $place") {
      Using.resource(new Shop) { shop =>
        withTempDir { dir =>
          shop.run("INSERT INTO orders VALUES (1, 'one'), (2, 'two')")
          prepare(shop)
          val read = shop.read((Seq("sourceId" -> Source, "onTruncate" -> "emit") ++ more): _*)
          stopped(start(read, s"frozen $name", dir.toString)) {
            val query = spark.streams.active.head
            until(query)(assert(Collected.of(s"frozen $name").size == 3))
            query.processAllAvailable()
            val before = Collected.of(s"frozen $name").size
            shop.transaction(
              "INSERT INTO orders VALUES (4, 'four')",
              "UPDATE orders SET note = 'changed' WHERE id = 1",
              "UPDATE orders SET id = 3 WHERE id = 3",
              "UPDATE orders SET id = 20 WHERE id = 2",
              "DELETE FROM orders WHERE id = 4"
            )
            shop.run("TRUNCATE orders", "INSERT INTO orders VALUES (5, NULL)")
            until(query) {
              val kinds = Collected.of(s"frozen $name").map(_.getAs[String]("_change_type"))
              assert(kinds.takeRight(2) == Seq("truncate", "insert") && kinds.size > before + 6)
            }
            query.processAllAvailable()
            Seq("offsets", "sources/0/cdc").foreach { part =>
              FileUtils.copyDirectory(new File(dir, part), place.resolve(part).toFile, !_.getName.endsWith(".crc"))
            }
          }
          Files.write(place.resolve(Rows), Collected.of(s"frozen $name").map(shown).asJava): Unit
        }
      }
    }
  }
}

private object FrozenChangesSuite {
  private val Root = Paths.get(System.getProperty("epochal.root", ".")).toAbsolutePath
  val Home: Path = Root.resolve("scala/cdc/src/test/resources/frozen")
  val Rows = "rows.txt"
  val Source = "frozen"
  val Orders: StructType = new StructType().add("id", IntegerType, nullable = false).add("note", StringType)

  def Version: String = Files.readString(Root.resolve("version.txt")).trim

  def Sets: Seq[Path] = for {
    version <- directories(Home)
    set <- directories(version)
  } yield set

  private def directories(path: Path): Seq[Path] =
    Option(path.toFile.listFiles).toSeq.flatten.filter(_.isDirectory).map(_.toPath).sorted

  def options(isSeveral: Boolean): CdcOptions = CdcOptions
    .read(
      Map(
        "url" -> "jdbc:postgresql://127.0.0.1:1/none",
        "dbtable" -> (if (isSeveral) "orders,public.items" else "orders"),
        "sourceId" -> Source,
        "onTruncate" -> "emit",
        "retry.maxAttempts" -> "1"))
    .fold(throw _, identity)

  def tables(origin: CdcOrigin): CdcTables = {
    val named = if (origin.tables.isEmpty) origin.table.toSeq else origin.tables.toSeq.sorted
    val all = named.map { case (name, oid) =>
      CdcTable(ScriptedServer.facts(oid, name.stripPrefix("public."), Nil), ScriptedServer.Columns)
    }
    CdcTables(all, Nil, if (origin.tables.isEmpty) RowShape.OfTable else RowShape.Json)
  }

  def store(checkpoint: Path) = new InitialOffset(s"$checkpoint/sources/0", new Configuration).beside("cdc")

  /** The ends of the logged batches. */
  def offsets(checkpoint: Path): Seq[CdcPosition] = {
    val files: Seq[File] = checkpoint.resolve("offsets").toFile.listFiles.toSeq.filter(_.getName.matches("\\d+"))
    files
      .sortBy(_.getName.toInt)
      .map(file => CdcOffset.fromJson(Source, Files.readAllLines(file.toPath).asScala.last).fold(throw _, identity))
  }

  def shown(row: Row): String = row.json
}
