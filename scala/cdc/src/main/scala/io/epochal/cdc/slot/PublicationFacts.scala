package io.epochal.cdc.slot

/** Facts of a publication.
  *
  * @param operations
  *   of insert, update, delete, truncate, those that it publishes
  * @param viaRoot
  *   whether changes of partitions count as those of the partitioned table
  * @param tables
  *   that it publishes, with their column list and row filter
  */
final private[cdc] case class PublicationFacts(
    name: String,
    operations: Set[String],
    viaRoot: Boolean,
    tables: Map[String, PublishedTable])

private[cdc] object PublicationFacts {
  val Operations: Seq[String] = Seq("insert", "update", "delete", "truncate")
}

/** @param columns
  *   empty: all
  * @param isListed
  *   whether the publication has a list of columns, so that it does not publish those that are added later
  */
final private[cdc] case class PublishedTable(columns: Seq[String], filter: Option[String], isListed: Boolean)
