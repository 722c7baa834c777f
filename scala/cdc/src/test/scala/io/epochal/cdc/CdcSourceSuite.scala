package io.epochal.cdc

import java.io.File
import java.nio.file.{Files, Path}

import scala.util.{Try, Using}

import org.apache.commons.io.FileUtils
import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.types.StructType
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.cdc.change.ScriptedServer._
import io.epochal.cdc.change._
import io.epochal.cdc.pgoutput.Lsn
import io.epochal.cdc.slot.CaptureServer
import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.journal.acknowledged.AcknowledgedJournal
import io.epochal.kit.source.InitialOffset

/** The journal that a source takes over, without a server. */
final class CdcSourceSuite extends AnyFunSuite {
  import CdcSourceSuite._

  test("a damaged byte of the journal, or of the last transaction, is named, and changes no row") {
    val written = Files.createTempDirectory("epochal-cdc")
    write(written)
    assert(taken(written) == Right(Lsn.show(400)))
    val all = Seq("cdc", "cdc/witness").flatMap(directory => files(written.resolve(directory)))
    assert(all.map(_.getName.replaceAll(".*[.]", "")).toSet == Set("ack", "last"))
    val found = for {
      file <- all
      position <- (0L until file.length by math.max(1L, file.length / 12)) :+ (file.length - 1)
    } yield {
      val copy = Files.createTempDirectory("epochal-cdc")
      FileUtils.copyDirectory(written.toFile, copy.toFile)
      damage(copy.resolve(written.relativize(file.toPath)), position)
      val outcome = taken(copy)
      FileUtils.deleteQuietly(copy.toFile): Unit
      assert(outcome.left.forall(Named(_)) && outcome.forall(_ == Lsn.show(400)), s"$file at $position: $outcome")
      file.getName.takeRight(4) -> outcome
    }
    assert(found.count(_._2.isLeft) > 8)
    assert(found.filter(_._1 == "last").forall(_._2 == Left(Conditions.OffsetInvalid)))
  }

  test("a last transaction of an older release, or from a run that was killed, is taken as it is named") {
    Seq(Array[Byte](1), Array.emptyByteArray, "0000".getBytes).foreach { content =>
      val written = Files.createTempDirectory("epochal-cdc")
      write(written)
      Files.write(files(written.resolve("cdc/witness")).head.toPath, content): Unit
      assert(taken(written) == Right(Lsn.show(400)))
    }
  }

  test("the newest of the last transactions counts, and none that is older than the journal") {
    val written = Files.createTempDirectory("epochal-cdc")
    write(written)
    val witnesses = written.resolve("cdc/witness")
    def add(lsn: Long): Unit = {
      val name = MarkerFiles.name(CommittedTransaction(lsn, 9, 9, 9))
      Files.write(witnesses.resolve(name), name.getBytes): Unit
    }
    val own = files(witnesses).map(_.toPath)
    add(200)
    assert(taken(written) == Right(Lsn.show(400)))
    own.foreach(Files.delete)
    assert(taken(written) == Right(Lsn.show(300)))
    add(500)
    assert(taken(written) == Right(Lsn.show(500)))
  }

  /** The position that a run confirms which takes the journal over and has all its rows; Left: the condition of its error. */
  private def taken(checkpoint: Path) = {
    val store = new InitialOffset(checkpoint.toString, new Configuration).beside("cdc")
    val plan = CapturePlan(options, server, tables, binary = false)
    Using.resource(
      new CdcSource(plan, new CdcReaderFactory(options, Map("public.orders" -> Columns), new StructType, store), 1)) {
      source =>
        val outcome = Try {
          source.open(CdcPosition(0, origin), CdcPosition(3, origin))
          assert(source.supply.partitions(CdcPosition(0, origin), CdcPosition(3, origin)).length == 1)
          source.metrics(None)("confirmed")
        }.toEither
        outcome.left.map { case e: EpochalException => e.condition; case other => throw other }
    }
  }
}

private object CdcSourceSuite {
  private val Named = Set(Conditions.OffsetInvalid, Conditions.DataLoss)

  private val orders = facts(Orders.toLong, "orders", Columns.map(_.name))
  private val tables = CdcTables(Seq(CdcTable(orders, Columns)), Nil, RowShape.OfTable)
  private val options = CdcOptions
    .read(Map("url" -> "jdbc:postgresql://127.0.0.1:1/none", "dbtable" -> "orders", "retry.maxAttempts" -> "1"))
    .fold(throw _, identity)
  private val server = new CaptureServer(options.connection, options.retry)
  private val origin = CdcOrigin("s", "s", "7", timeline = 1, start = 50, snapshot = false)

  /** Three transactions of a row, and one without rows. */
  private def write(checkpoint: Path): Unit = {
    val store = new InitialOffset(checkpoint.toString, new Configuration).beside("cdc")
    Using.resource(AcknowledgedJournal.take(store, store.below("runs"), options.source)) { journal =>
      val rules = new ChangeRules(preimages = false, OnTruncate.Emit)
      val intake = new ChangeIntake(ChangeState.Empty, rules, (_, _) => None, "s", "server")
      def append(frame: ChangeFrame): Unit =
        journal.append(frame.rows, frame.payload.array, 0, frame.payload.length)(frame.before.toBytes): Unit
      (1 to 4).foreach { i =>
        val statements = if (i < 4) Seq(Insert(i, s"note $i")) else Nil
        messages(Committed(100L * i, i, i.toLong, statements), defines = i == 1)
          .foreach(read(intake, _).foreach(append))
        intake.flush().foreach(append)
      }
      intake.settle().foreach(new MarkerFiles(store.below("witness")).write)
    }
  }

  private def files(directory: Path): Seq[File] = directory.toFile.listFiles.toSeq.filter(_.isFile).sorted

  private def damage(file: Path, position: Long): Unit = {
    val bytes = Files.readAllBytes(file)
    bytes(position.toInt) = (bytes(position.toInt) ^ 0x10).toByte
    Files.write(file, bytes): Unit
  }
}
