package io.epochal.kit.record

private[epochal] trait RecordOrigin {

  /** The value of a column, in Spark's internal form, or a [[RecordOrigin.Misfit]]; null if it is unknown. */
  def value(column: String): Any
}

private[epochal] object RecordOrigin {

  /** In place of a value that does not fit its column: then no record of this origin fits.
    *
    * @param reason
    *   by names and types, without the value
    */
  final case class Misfit(reason: String)
}
