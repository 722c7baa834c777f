package io.epochal.jdbc.database

/** A primary key or unique index that an upsert can use.
  *
  * @param loose
  *   the columns that may treat as equal values that Spark distinguishes, each with the reason: `collation NOCASE`
  */
final case class TargetKey(columns: Set[String], loose: Map[String, String] = Map.empty)

object TargetKey {

  /** @param columns
    *   of all unique indexes: the index, the column's name (None: a part or an expression), and why it is loose
    */
  def ofIndexes(columns: Seq[(String, Option[String], Option[String])]): Seq[TargetKey] =
    columns.groupBy(_._1).values.toSeq.filter(_.forall(_._2.isDefined)).map { index =>
      val loose = index.collect { case (_, Some(name), Some(reason)) => name -> reason }
      TargetKey(index.flatMap(_._2).toSet, loose.toMap)
    }
}
