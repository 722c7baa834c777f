package io.epochal.cdc.pgoutput

/** A column of a [[Message.Relation]].
  *
  * @param isKey
  *   whether the column belongs to the replica identity
  */
final private[cdc] case class RelationColumn(name: String, isKey: Boolean, typeOid: Int, modifier: Int) {

  /** Whether it has the type of an earlier definition, or one that has all its values as they are. */
  def widens(before: RelationColumn): Boolean =
    if (typeOid == before.typeOid) modifier == before.modifier || isWider(before.modifier)
    else before.typeOid == RelationColumn.Varchar && typeOid == RelationColumn.Text

  private def isWider(before: Int): Boolean = {
    import RelationColumn._
    def scale(modifier: Int) = (modifier - 4) & 0xffff
    if (typeOid == Varchar || Times(typeOid)) modifier == -1 || before >= 0 && modifier > before
    else typeOid == Numeric && (modifier == -1 || before >= 4 && modifier > before && scale(modifier) == scale(before))
  }
}

private[cdc] object RelationColumn {
  val Text = 25
  val Varchar = 1043
  private val Numeric = 1700

  /** Times and timestamps, with and without a time zone. */
  private val Times = Set(1083, 1114, 1184, 1266)
}
