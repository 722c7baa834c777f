package io.epochal.cdc

import org.apache.spark.sql.types.StructType

import io.epochal.core.journal.Slice
import io.epochal.kit.database.PostgresColumn
import io.epochal.kit.source.journal.{FeedRows, JournalRows}
import io.epochal.kit.store.HadoopFileStore

/** Creates readers of changes. Serialized to the executors.
  *
  * @param columns
  *   of the table, as they were when the query was planned
  */
final private[cdc] class CdcReaderFactory(
    options: CdcOptions,
    columns: Seq[PostgresColumn],
    schema: StructType,
    override val store: HadoopFileStore)
    extends FeedRows {

  override def source: String = options.source

  override def rows(slices: Iterator[Slice]): JournalRows =
    if (options.tables.isSeveral) new GenericReader(frames(slices), columns, schema)
    else new TypedReader(frames(slices), columns, schema)

  override def lost(from: Long, until: Long, reason: String): String = options.lost(from, until, reason)
}
