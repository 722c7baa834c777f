package io.epochal.jdbc.insert

import scala.annotation.unused

import io.epochal.jdbc.database.BoundColumn
import io.epochal.jdbc.row.NulCharacter

/** How values of Spark's types become statement parameters in one database. Serialized to the tasks. */
trait ValueRules extends Serializable {

  /** The check that a task makes on values of the column; None: every value can be stored. */
  def check(column: BoundColumn, nul: NulCharacter): Option[ValueCheck]

  /** SQL for the column's parameter. */
  def parameter(@unused column: BoundColumn): String = "?"

  /** How the driver binds a parameter for the column. */
  def binder(column: BoundColumn, nul: NulCharacter): Binder
}
