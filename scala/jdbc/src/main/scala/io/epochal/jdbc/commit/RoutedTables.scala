package io.epochal.jdbc.commit

import io.epochal.jdbc.routing.{QueryTables, RoutedFormat}
import io.epochal.kit.sink.row.RowFormat

/** All tables of a run. */
final private[jdbc] case class RoutedTables(query: QueryTables, all: Seq[RoutedTable]) {

  def rowFormat: RowFormat = RoutedFormat(
    query.schema,
    query.name,
    query.feed,
    all.map { case RoutedTable(query, database, bound, _) =>
      (query.source, query.ordinal, database.dialect.rowFormat(bound), bound.operation.isEmpty)
    })
}
