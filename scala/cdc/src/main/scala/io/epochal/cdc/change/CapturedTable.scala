package io.epochal.cdc.change

import io.epochal.cdc.pgoutput.Message.Relation

/** A table whose changes are delivered.
  *
  * @param key
  *   indexes of its key's columns: its primary key, else its replica identity, unless that is the whole row
  * @param identity
  *   indexes of the columns whose old values the server sends when one of them changes: those of the replica identity; if that is the
  *   whole row, those of the primary key
  */
final private[cdc] case class CapturedTable(relation: Relation, key: Seq[Int], identity: Seq[Int])

private[cdc] object CapturedTable {

  def apply(relation: Relation, primaryKey: Seq[String]): CapturedTable = {
    val isWholeRow = relation.identity == 'f'
    val primary = primaryKey.map(name => relation.columns.indexWhere(_.name == name)).filter(_ >= 0)
    val replica = if (isWholeRow) Nil else relation.columns.indices.filter(relation.columns(_).isKey)
    val key = if (primaryKey.nonEmpty) primary else replica
    CapturedTable(relation, key, if (isWholeRow) key else replica)
  }
}
