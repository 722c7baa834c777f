package io.epochal.rest.source.record

/** What an answer holds.
  *
  * @param records
  *   how many there are
  * @param parts
  *   where those stand that were asked for
  * @param values
  *   the values at the pointers asked for that are neither missing nor null; an object or array is None
  * @param keys
  *   of the first and the last record, where they were asked for and there are records; None without a value
  * @param nulls
  *   the pointers asked for with null at them, or on the way to them
  * @param outline
  *   the first fields around the records: their pointers, and the beginnings of the texts of those that are scalars
  */
final private[rest] case class ScannedAnswer(
    records: Int,
    parts: Seq[AnswerPart],
    values: Map[String, Option[String]],
    keys: Option[(Option[String], Option[String])] = None,
    nulls: Set[String] = Set.empty,
    outline: Seq[(String, Option[String])] = Nil
) {

  /** With what was found around the records. */
  def around(pass: ScannedFields): ScannedAnswer =
    copy(values = pass.values, nulls = pass.nulls, outline = pass.outline)
}

/** What stands around the records of an answer; as there. */
final private[rest] case class ScannedFields(
    values: Map[String, Option[String]],
    nulls: Set[String],
    outline: Seq[(String, Option[String])]
)

private[rest] object ScannedAnswer {
  val nothing: ScannedAnswer = ScannedAnswer(0, Nil, Map.empty)
}
