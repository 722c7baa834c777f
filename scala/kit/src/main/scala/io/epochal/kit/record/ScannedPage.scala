package io.epochal.kit.record

/** The result of a scan.
  *
  * @param records
  *   their number
  * @param spans
  *   positions of the selected records
  * @param values
  *   the values at the given pointers that are neither missing nor null, as texts or as JSON; None for the text of an
  *   object or array
  * @param keys
  *   of the first and the last record, if they are selected and there are records; None: the record has no such value
  * @param nulls
  *   the given pointers with null at them, or on the path to them
  * @param outline
  *   the first fields around the records: their pointers, and the beginnings of the scalars' texts
  * @param nullArray
  *   JSON Pointer to null in place of an array of records, unless that means an empty one
  */
final private[epochal] case class ScannedPage(
    records: Int = 0,
    spans: Seq[RecordSpan] = Nil,
    values: Map[String, Option[String]] = Map.empty,
    keys: Option[(Option[String], Option[String])] = None,
    nulls: Set[String] = Set.empty,
    outline: Seq[(String, Option[String])] = Nil,
    nullArray: Option[String] = None
)

private[epochal] object ScannedPage {
  val nothing: ScannedPage = ScannedPage()
}
