package io.epochal.cdc.change

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8
import java.util.UUID

import scala.math.Ordering.Implicits.seqOrdering

import org.postgresql.util.ByteConverter

import io.epochal.cdc.pgoutput.Bytes
import io.epochal.cdc.pgoutput.Message.Relation

/** The order of keys of whole numbers, and of UUIDs by their bytes, as the server and a sink have it, too.
  *
  * @param columns
  *   the place of each column of the key in a row, and its type
  */
final private[change] class KeyOrder private (columns: Seq[(Int, Int)]) {
  import KeyOrder._

  /** Whether the key of a row comes after another one, as text; None: the row does not have it. */
  def isAfter(row: Bytes, key: Seq[String]): Option[Boolean] =
    Option.when(columns.forall(column => HasValue(TupleValue.of(row, column._1).kind)))(order.gt(of(row), of(key)))

  private def of(texts: Seq[String]): Key = texts.zip(columns).flatMap { case (text, (_, oid)) => read(text, oid) }

  private def of(row: Bytes): Key = columns.flatMap { case (place, oid) =>
    val TupleValue(kind, Bytes(array, at, length)) = TupleValue.of(row, place)
    if (kind == 't') read(new String(array, at, length, UTF_8), oid)
    else
      oid match {
        case Int2 => Seq(ByteConverter.int2(array, at).toLong)
        case Int4 => Seq(ByteConverter.int4(array, at).toLong)
        case Int8 => Seq(ByteConverter.int8(array, at))
        case _ =>
          val in = ByteBuffer.wrap(array, at, length)
          Seq(sortable(in.getLong()), sortable(in.getLong()))
      }
  }
}

private[cdc] object KeyOrder {
  private type Key = Seq[Long]
  private val HasValue = Set[Byte]('t', 'b')
  private val order = seqOrdering[Seq, Long]
  final private val Int2 = 21
  final private val Int4 = 23
  final private val Int8 = 20
  final private val Uuid = 2950
  private val Types = Set(Int2, Int4, Int8, Uuid)

  /** The types of a key, if it has an order; else none. */
  def types(key: Seq[String], relation: Relation): Seq[Int] = {
    val found = key.flatMap(name => relation.columns.find(_.name == name)).map(_.typeOid)
    if (found.size == key.size && found.forall(Types)) found else Nil
  }

  /** None: the columns have other types, or are not there. */
  private[change] def of(key: Seq[String], types: Seq[Int], relation: Relation): Option[KeyOrder] = {
    val places = key.map(name => relation.columns.indexWhere(_.name == name))
    Option.when(types.nonEmpty && this.types(key, relation) == types)(new KeyOrder(places.zip(types)))
  }

  private def read(text: String, oid: Int): Key =
    if (oid != Uuid) Seq(text.toLong)
    else {
      val id = UUID.fromString(text)
      Seq(sortable(id.getMostSignificantBits), sortable(id.getLeastSignificantBits))
    }

  /** A number that sorts as the unsigned one. */
  private def sortable(bits: Long): Long = bits ^ Long.MinValue
}
