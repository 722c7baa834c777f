package io.epochal.jdbc.postgres

import io.epochal.kit.sink.row.BadValue

/** An encoder with state of its own.
  *
  * @param column
  *   index in the query's rows, for messages
  */
abstract private[postgres] class CheckedValue(column: Int) extends CopyValue {
  final protected def refuse(reason: String): Nothing = throw new BadValue(column, reason)
}
