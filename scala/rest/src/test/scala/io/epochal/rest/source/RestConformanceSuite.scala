package io.epochal.rest.source

import java.nio.file.Path

import org.apache.spark.sql.connector.read.streaming.{MicroBatchStream, Offset}
import org.apache.spark.sql.types.StructType
import org.scalatest.tags.Slow

import io.epochal.kit.source.SourceOffset
import io.epochal.testkit.{SourceChecks, SourceFixture}

/** The source over an API in this JVM, in pages of four records. */
abstract class RestConformanceSuite(pagination: String, journal: Boolean = false, fanned: Boolean = false)
    extends SourceChecks {

  override def sourceName: String = s"${RestOptions.Format}, pagination=$pagination, journal=$journal, fanned=$fanned"

  override def newFixture(): SourceFixture = new SourceFixture {
    private val api = new RecordsApi
    private val table =
      if (!fanned) Nil
      else
        Seq(
          "url" -> api.url.replace("/records", "/${list}"),
          "partitionParams" -> """[{"list": "records"}, {"list": "nothing"}]""",
          "ignoreStatuses" -> "404")
    private val pageSize = if (pagination == "none") Nil else Seq("pageSize" -> "4")

    override val schema: StructType = StructType.fromDDL("id INT, name STRING")

    override def newStream(checkpoint: Path, partitions: Int): MicroBatchStream =
      stream(checkpoint, "numPartitions" -> partitions.toString)

    override def newStreamOfAnotherSource(checkpoint: Path): MicroBatchStream =
      stream(checkpoint, "sourceId" -> "another")

    private def stream(checkpoint: Path, extra: (String, String)): MicroBatchStream =
      RestStreams.of(
        RestOptions
          .read(
            Map(
              "url" -> api.url,
              "pagination" -> pagination,
              "journal" -> journal.toString,
              "refreshInterval" -> "0s",
              extra) ++ pageSize ++ table)
          .fold(throw _, identity),
        schema,
        checkpoint
      )

    override def makeAvailable(rows: Int): Unit = api.count += rows

    override def keepsRows: Boolean = !journal

    override def rowsBefore(offset: Offset): Long = offset match {
      case SourceOffset(position: RestPosition, _) => position.records
      case other                                   => fail(s"not an offset of ours: $other")
    }

    override def close(): Unit = api.close()
  }
}

/** The source over an API whose pages name the next one. */
abstract class RestChainConformanceSuite(kind: String) extends SourceChecks {

  override def sourceName: String = s"${RestOptions.Format}, $kind"

  override def newFixture(): SourceFixture = new SourceFixture {
    private val api = new ChainApi

    override val schema: StructType = StructType.fromDDL("id INT, name STRING")

    override def newStream(checkpoint: Path, partitions: Int): MicroBatchStream =
      stream(checkpoint, "numPartitions" -> partitions.toString)

    override def newStreamOfAnotherSource(checkpoint: Path): MicroBatchStream =
      stream(checkpoint, "sourceId" -> "another")

    private def stream(checkpoint: Path, extra: (String, String)): MicroBatchStream =
      RestStreams.over(api.url, checkpoint, schema, ChainApi.kinds(kind) :+ extra: _*)

    override def makeAvailable(rows: Int): Unit = api.count += rows

    override def rowsBefore(offset: Offset): Long = offset match {
      case SourceOffset(position: RestPosition, _) => position.records
      case other                                   => fail(s"not an offset of ours: $other")
    }

    override def keepsRows: Boolean = false

    override def endIsKnownAtStart: Boolean = false

    override def close(): Unit = api.close()
  }
}

final class RestByCursorConformanceSuite extends RestChainConformanceSuite("cursor")
@Slow
final class RestByHeaderConformanceSuite extends RestChainConformanceSuite("cursor in headers")
final class RestByKeysetConformanceSuite extends RestChainConformanceSuite("keyset")
@Slow
final class RestByLinkConformanceSuite extends RestChainConformanceSuite("link")
@Slow
final class RestByNextUrlConformanceSuite extends RestChainConformanceSuite("next-url")
final class RestByOffsetConformanceSuite extends RestConformanceSuite("offset")
@Slow
final class RestByPageConformanceSuite extends RestConformanceSuite("page")
final class RestWholeConformanceSuite extends RestConformanceSuite("none")
@Slow
final class RestByOffsetJournalConformanceSuite extends RestConformanceSuite("offset", journal = true)
@Slow
final class RestByPageJournalConformanceSuite extends RestConformanceSuite("page", journal = true)
@Slow
final class RestWholeJournalConformanceSuite extends RestConformanceSuite("none", journal = true)
@Slow
final class RestFannedConformanceSuite extends RestConformanceSuite("offset", fanned = true)
final class RestFannedJournalConformanceSuite extends RestConformanceSuite("page", journal = true, fanned = true)
