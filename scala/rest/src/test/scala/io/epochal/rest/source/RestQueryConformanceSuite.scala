package io.epochal.rest.source

import java.util

import org.scalatest.tags.Slow

import io.epochal.support.QueryConformance
import io.epochal.testkit.{Conformance, FormatSource}

/** The source in queries that are stopped and killed. */
abstract class RestQueryConformance(journal: Boolean)
    extends QueryConformance(
      Conformance.source(s"${RestOptions.Format} in queries, journal=$journal", () => new RestFormatFixture(journal)))

@Slow
final class RestQueryConformanceSuite extends RestQueryConformance(journal = false)
@Slow
final class RestJournalQueryConformanceSuite extends RestQueryConformance(journal = true)

/** An API in this JVM, in pages of four records. */
final class RestFormatFixture(journal: Boolean) extends FormatSource(RestOptions.Format) {
  private val api = new RecordsApi

  override val options: util.Map[String, String] = util.Map.of(
    "url",
    api.url,
    "pagination",
    "offset",
    "pageSize",
    "4",
    "journal",
    journal.toString,
    "refreshInterval",
    "0s",
    "retry.initialDelay",
    "1ms")

  override def optionsOfAnotherSource: util.Map[String, String] = {
    val other = new util.HashMap[String, String](options)
    other.put("sourceId", "another")
    other
  }

  override def readerSchema: String = "id INT, name STRING"

  override def partitionsOption: String = "numPartitions"

  override def keepsRows: Boolean = !journal

  override def modes: util.Set[String] = if (journal) util.Set.of("continuous", "real-time") else util.Set.of()

  override def makeAvailable(rows: Int): Unit = api.count += rows

  override def close(): Unit = api.close()
}
