package io.epochal.cdc.change

import java.io.{ByteArrayOutputStream, DataOutputStream}
import java.nio.charset.StandardCharsets.UTF_8

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode

import io.epochal.cdc.change.FrameReader.StoredChange
import io.epochal.cdc.pgoutput.Bytes
import io.epochal.cdc.pgoutput.Message.Relation

/** A chunk of a table: rows whose keys are in a range.
  *
  * @param key
  *   the columns of the key
  * @param types
  *   the OIDs of their types
  * @param after
  *   the key before the first row, as text; None: it is the first chunk
  * @param until
  *   the key of the last row; None: it is the last chunk
  */
final private[cdc] case class Chunk(
    key: Seq[String],
    types: Seq[Int],
    after: Option[Seq[String]],
    until: Option[Seq[String]]) {

  /** Whether a row belongs to a later chunk; None: it does not have the key. */
  def isLater(relation: Relation, row: Bytes): Option[Boolean] =
    until.fold(Option(false))(isAfter(relation, row, _))

  private def isAfter(relation: Relation, row: Bytes, bound: Seq[String]): Option[Boolean] =
    KeyOrder.of(key, types, relation).flatMap(_.isAfter(row, bound))

  private def contains(relation: Relation, row: Bytes): Option[Boolean] = for {
    isBehind <- after.fold(Option(true))(isAfter(relation, row, _))
    isLater <- isLater(relation, row)
  } yield isBehind && !isLater

  /** The change as it affects the rows of this chunk; Right(None): it does not. Left: it lacks the key, or moves a row here without all
    * its values.
    */
  def clip(change: StoredChange): Either[Unit, Option[StoredChange]] = {
    val (old, row) = change.images
    def isIn(image: Option[Bytes]) =
      image.fold(Option(false))(one => contains(change.relation, Chunk.tuple(one)))
    val after = row.orElse(old)
    val before = if (change.kind == RowChange.NewKey) old else after
    (isIn(before), isIn(after), row) match {
      case (Some(true), Some(true), _)   => Right(Some(change))
      case (Some(true), Some(false), _)  => Right(old.map(one => change.copy(kind = RowChange.Delete, tuples = one)))
      case (Some(false), Some(false), _) => Right(None)
      case (Some(false), Some(true), Some(one)) if !TupleValue.isPartial(Chunk.tuple(one)) =>
        Right(Some(change.copy(kind = RowChange.Insert, tuples = one)))
      // The whole old row has the values.
      case (Some(false), Some(true), _) if old.exists(one => one.array(one.offset) == 'O') =>
        Right(Some(change.copy(kind = RowChange.Update)))
      case _ => Left(())
    }
  }

  /** A row with only the columns of the key, as a frame has it. */
  def bound(relation: Relation, texts: Seq[String]): Bytes = {
    val bytes = new ByteArrayOutputStream
    val out = new DataOutputStream(bytes)
    out.writeByte('N')
    out.writeShort(relation.columns.size)
    relation.columns.foreach { column =>
      texts.lift(key.indexOf(column.name)).fold(out.writeByte('n')) { text =>
        val value = text.getBytes(UTF_8)
        out.writeByte('t')
        out.writeInt(value.length)
        out.write(value)
      }
    }
    Bytes(bytes.toByteArray, 0, bytes.size)
  }

  def toJson: String = {
    val fields = ChangeState.mapper.createObjectNode()
    (Seq("key" -> key) ++ after.map("after" -> _) ++ until.map("until" -> _)).foreach { case (name, texts) =>
      val array = fields.putArray(name)
      texts.foreach(array.add)
    }
    val oids = fields.putArray("types")
    types.foreach(oids.add)
    fields.toString
  }
}

private[cdc] object Chunk {
  def read(json: String): Chunk = {
    val fields = ChangeState.mapper.readTree(json)
    def texts(name: String): Option[Seq[String]] =
      Option(fields.get(name)).map(_.elements.asScala.map(_.textValue).toVector)
    val types = fields.path("types").elements.asScala.map((oid: JsonNode) => oid.intValue).toVector
    Chunk(texts("key").getOrElse(Nil), types, texts("after"), texts("until"))
  }

  /** Without the letter before it. */
  private def tuple(image: Bytes): Bytes = Bytes(image.array, image.offset + 1, image.length - 1)
}
