package io.epochal.kit.record

import org.apache.spark.sql.types.{MetadataBuilder, StructField, StructType}

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.option.NameList

/** The columns of a change feed by which a replica can be keyed: those whose changes come with the old value. The others are marked
  * in their metadata, which selections, filters and new names keep.
  */
private[epochal] object ReplicaKey {
  private val Mark = "epochal.unfollowed"
  private val Key = "epochal.key"
  private val Table = "epochal.table"

  /** @param table
    *   the source's, in SQL
    * @param id
    *   of that table: the system identifier of its PostgreSQL server, the database, and its OID
    * @param key
    *   the columns whose change arrives as a delete and an insert
    * @param hasImages
    *   whether any other update arrives with the whole row before it
    */
  def mark(columns: StructType, table: String, id: String, key: Seq[String], hasImages: Boolean): StructType =
    StructType(columns.map { field =>
      def withMetadata(add: MetadataBuilder => MetadataBuilder) =
        field.copy(metadata = add(new MetadataBuilder().withMetadata(field.metadata)).build())
      if (key.contains(field.name)) withMetadata(_.putString(Key, NameList.render(key)).putString(Table, id))
      else {
        val mark = new MetadataBuilder()
          .putString("table", table)
          .putString("key", NameList.render(key))
          .putBoolean("images", hasImages)
          .build()
        withMetadata(_.putMetadata(Mark, mark))
      }
    })

  /** The columns of the key whose change arrives as a delete and an insert; None: there is no key, or a part of it is missing. */
  def of(columns: StructType): Option[Seq[StructField]] = for {
    field <- columns.find(_.metadata.contains(Key))
    names <- NameList.names(field.metadata.getString(Key))
    if names.forall(name => columns.exists(field => field.name == name && field.metadata.contains(Key)))
  } yield names.map(columns(_))

  /** The id of the table that a column comes from. */
  def table(columns: Seq[StructField]): Option[String] =
    columns.find(_.metadata.contains(Table)).map(_.metadata.getString(Table))

  /** Refusal of a replica that would keep the row under an old key when the key changes.
    *
    * @param usesImages
    *   whether the sink deletes the row before an update
    */
  def refusal(keys: Seq[StructField], usesImages: Boolean): Option[EpochalException] = (for {
    field <- keys if field.metadata.contains(Mark)
    mark = field.metadata.getMetadata(Mark) if !(usesImages && mark.getBoolean("images"))
  } yield {
    val (table, key) = (mark.getString("table"), mark.getString("key"))
    val instead =
      if (key.isEmpty) s"Give $table a primary key." else s"Set {option:keyColumns=$key}."
    val identity =
      if (usesImages) "FULL; and read with {option:preimages=true}."
      else "USING INDEX, with a unique index that has it."
    Conditions.KeyNotFollowed(
      "column" -> field.name,
      "table" -> table,
      "advice" -> s"$instead For another key, ALTER TABLE $table REPLICA IDENTITY $identity")
  }).headOption
}
