package io.epochal.rest.source.supply

import java.nio.file.{Files, Path}

import scala.util.Using

import org.apache.spark.sql.connector.read.streaming.{Offset, ReadLimit}
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.rest.source._
import io.epochal.testkit.{MicroBatch, Serialization}

/** Queries with a damaged or unwritable journal. */
final class RestJournalFaultsSuite extends AnyFunSuite with ChainFixture {

  private def journalled(failOnDataLoss: Boolean)(damage: Path => Any)(check: (Query, Offset) => Any): Unit =
    query(30, "cursor", "failOnDataLoss" -> failOnDataLoss.toString, "numPartitions" -> "1") { query =>
      query.batch(ReadLimit.maxRows(6))
      val end = MicroBatch.next(query.stream, query.at, ReadLimit.maxRows(8)).get
      query.segments.sortBy(_.toString).lastOption.foreach(damage)
      query.stream = query.start()
      val _ = check(query, end)
    }

  private val faults: Seq[(String, Path => Any)] = Seq(
    "a missing segment" -> (file => Files.delete(file)),
    "an empty segment" -> (file => Files.write(file, Array.emptyByteArray)),
    "a torn tail" -> (file => Files.write(file, Files.readAllBytes(file).dropRight(9))),
    "a segment that was renamed by half" -> { file =>
      Files.move(file, file.resolveSibling(s".${file.getFileName}.tmp"))
      Files.write(file, Array.fill[Byte](100)(0))
    },
    "a flipped bit" -> { file =>
      val bytes = Files.readAllBytes(file)
      bytes(bytes.length - 100) = (bytes(bytes.length - 100) ^ 4).toByte
      Files.write(file, bytes)
    }
  )

  faults.foreach { case (fault, damage) =>
    test(s"$fault is data loss that names the lost offsets") {
      journalled(failOnDataLoss = true)(damage) { (query, end) =>
        val error = failure(query.read(end))
        assert(
          error.condition.name == "DATA_LOSS" && "from offset (8|12) to 14".r.findFirstIn(error.getMessage).nonEmpty)
        assert(error.getMessage.contains("The journal's segment 0000000000000000008-"))
      }
    }

    test(s"$fault, with failOnDataLoss=false, is skipped, and the stream continues after it") {
      journalled(failOnDataLoss = false)(damage) { (query, end) =>
        val ids = query.read(end)
        assert(ids.startsWith(Seq(6, 7)) && ids.toSet.subsetOf((6 until 14).toSet) && ids.size < 8)
        query.at = end
        assert(query.batch().takeRight(14) == (16 until 30))
      }
    }
  }

  test("a segment that is lost while the query runs is data loss, reported by the driver before any task") {
    query(30, "cursor") { query =>
      val end = MicroBatch.next(query.stream, query.at, ReadLimit.maxRows(8)).get
      query.segments.foreach(Files.delete(_))
      val error = failure(query.stream.planInputPartitions(query.at, end))
      assert(error.condition.name == "DATA_LOSS" && error.getMessage.contains("it is not there"))
    }
  }

  test(
    "a journal that the driver sees and an executor does not is no data loss, and failOnDataLoss=false skips nothing") {
    query(30, "cursor", "failOnDataLoss" -> "false") { query =>
      val end = MicroBatch.next(query.stream, query.at, ReadLimit.maxRows(8)).get
      val partitions = query.stream.planInputPartitions(query.at, end)
      val journal = query.checkpoint.resolve("journal")
      val hidden = journal.resolveSibling("hidden")
      val factory = query.stream.createReaderFactory()
      query.stream.stop()
      Files.move(journal, hidden)
      val error = failure(Using.resource(factory.createReader(Serialization.copy(partitions.head)))(_.next()))
      assert(error.condition.name == "JOURNAL_NOT_SHARED" && error.getMessage.contains(journal.toString))
      Files.move(hidden, journal)
      query.restart()
      assert(query.read(end) == (0 until 8))
    }
  }

  test("an unwritable journal is an error that names its directory, and the position stays") {
    query(30, "cursor") { query =>
      query.at = MicroBatch.next(query.stream, query.at, ReadLimit.maxRows(6)).get
      val directory = query.checkpoint.resolve("journal")
      val aside = directory.resolveSibling("aside")
      Files.move(directory, aside)
      Files.write(directory, Array.emptyByteArray)
      val error = failure(query.batch())
      assert(error.condition.name == "JOURNAL_UNWRITABLE" && error.getMessage.contains(directory.toString))
      Files.delete(directory)
      Files.move(aside, directory)
      assert(query.batch() == (6 until 30))
    }
  }
}
