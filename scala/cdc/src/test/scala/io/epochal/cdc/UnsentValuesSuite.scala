package io.epochal.cdc

import java.util.zip.CRC32C

import org.apache.spark.sql.types.{StringType, StructField, StructType}
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.cdc.change.{ChangeState, CommittedTransaction, FrameBuilder, RowChange}
import io.epochal.cdc.pgoutput.Message.Relation
import io.epochal.cdc.pgoutput.TestTuple
import io.epochal.cdc.pgoutput.TestTuple.Unsent
import io.epochal.cdc.pgoutput.{Bytes, OldTuple, RelationColumn}
import io.epochal.cdc.value.TypeText
import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.journal.{Frame, Slice}
import io.epochal.kit.database.{PostgresColumn, PostgresType}
import io.epochal.kit.record.{ReplicaKey, SourceColumn}
import io.epochal.kit.source.journal.{Frames, JournalRows}

/** Values that an update leaves alone and the server does not send, in the rows of a task. No server. */
final class UnsentValuesSuite extends AnyFunSuite {

  private val columns = Seq("id", "note", "document").zipWithIndex.map { case (name, i) =>
    PostgresColumn(name, -1, PostgresType("text", -1, "text", oid = i.toLong))
  }
  private val relation = Relation
    .of(9, "public", "orders", 'd', columns.map(c => RelationColumn(c.name, c.name == "id", c.kind.oid.toInt, -1)))
    .withTypes(TypeText.write(columns.map(column => Some(column.kind))))
  private val feed = "_unchanged_columns ARRAY<STRING>, _change_type STRING"
  private val typed = StructType.fromDDL(s"id STRING, note STRING, document STRING, $feed")
  private val generic = StructType.fromDDL(s"after STRING, $feed")

  private def tuple(values: Any*): Bytes = {
    val bytes = TestTuple.of(values: _*)
    Bytes(bytes, 0, bytes.length)
  }

  private val row = Some(tuple("2", "new", Unsent))
  private val whole = OldTuple(whole = true, tuple("1", "old", "long"))
  private val identity = OldTuple(whole = false, tuple("1", null, null))

  /** The only frame of a task: one change. */
  final private class OneChange(kind: RowChange, old: OldTuple) extends Frames {
    private var isRead = false

    override def next(into: Int => Array[Byte]): Option[Slice] = Option.when(!isRead) {
      isRead = true
      val builder = new FrameBuilder
      builder.begin(CommittedTransaction(7, 1, 1, 2), 0, new CRC32C)
      builder.add(kind, relation, Option.when(kind != RowChange.Insert)(old), row)
      builder.end(complete = true): Unit
      val Bytes(array, offset, length) = builder.frame(ChangeState.Empty).payload
      System.arraycopy(array, offset, into(length), 0, length)
      Slice("", Frame(0, length, 0, kind.rows, 0), skip = 0, take = kind.rows)
    }

    override def close(): Unit = ()
  }

  private def last(rows: JournalRows, schema: StructType): Seq[String] = {
    var found = Seq.empty[String]
    while (rows.next())
      found = schema.indices.map(i => String.valueOf(rows.get().get(i, schema(i).dataType)))
    found
  }

  /** The last row of a change: of a typed query, and of one over several tables. */
  private def rows(kind: RowChange, old: OldTuple): (Seq[String], Seq[String]) = {
    def frames = new OneChange(kind, old)
    last(new TypedReader(frames, columns, typed), typed) -> last(new GenericReader(frames, columns, generic), generic)
  }

  private val complete = """{"id":"2","note":"new","document":"long"}"""

  for ((kind, change) <- Seq(
      RowChange.Update -> "update_postimage",
      RowChange.BothImages -> "update_postimage",
      RowChange.NewKey -> "insert"))
    test(s"the new row of $kind has the values of the whole row before it that the server left out") {
      assert(
        rows(kind, whole) ==
          (Seq("2", "new", "long", "null", change), Seq(complete, "null", change)))
    }

  for (kind <- Seq(RowChange.Update, RowChange.BothImages))
    test(s"the new row of $kind names what the server left out if only the identity of the row before it is known") {
      val (one, several) = rows(kind, identity)
      assert(one.take(3) == Seq("2", "new", "null") && several.head == """{"id":"2","note":"new"}""")
      assert(one(3).contains("document") && several(1) == one(3))
    }

  test("an update of the key that the server sends without a value delivers two rows of one version") {
    val versioned = StructType(typed.add("_commit_version", StringType))
    def versions(old: OldTuple): Seq[String] = {
      val rows = new TypedReader(new OneChange(RowChange.NewKey, old), columns, versioned)
      Iterator
        .continually(rows)
        .takeWhile(_.next())
        .map { read =>
          val row = read.get()
          s"${row.getUTF8String(4)} ${row.getUTF8String(0)} ${row.getUTF8String(5)}"
        }
        .toSeq
    }
    val commit = "0000000000000007/"
    assert(versions(identity) == Seq(s"delete 1 ${commit}0000000001", s"insert 2 ${commit}0000000001"))
    assert(versions(whole) == Seq(s"delete 1 ${commit}0000000000", s"insert 2 ${commit}0000000001"))
    val (one, several) = rows(RowChange.NewKey, identity)
    assert(one.take(3) == Seq("2", "new", "null") && one.last == "insert" && one(3).contains("document"))
    assert(several == Seq("""{"id":"2","note":"new"}""", one(3), "insert"))
  }

  test("a row that comes alone, without the one of the earlier key, is refused with its key and position") {
    val marked = ReplicaKey.mark(typed, "public.orders", "1/1/shop/9", Seq("id"), hasImages = false)
    val struct = StructType(marked.filterNot(_.name.startsWith("_")))
    val several = StructType(StructField("public.orders", struct) +: marked.filter(_.name.startsWith("_")))
    def change = new OneChange(RowChange.Insert, identity)
    Seq[() => Any](
      () => last(new TypedReader(change, columns, marked), marked),
      () => last(new TablesReader(change, Map("public.orders" -> columns), several, follows = false), several)
    ).foreach { read =>
      val error = intercept[EpochalException](read())
      assert(error.condition == Conditions.ValueNotSent && error.getMessage.contains("(id 2, commit 0/7)"))
    }
  }

  test("a value that the query may take for sent is never NULL in its place") {
    def read(isSent: Boolean, schema: StructType) = {
      val marked = StructType(
        schema.map(field =>
          if (field.name == "document") SourceColumn("document", "text", -1, isRequired = false, isSent).mark(field)
          else field))
      last(new TypedReader(new OneChange(RowChange.Update, identity), columns, marked), marked).take(3)
    }
    val unlisted = StructType(typed.filterNot(_.name == "_unchanged_columns"))
    val error = intercept[EpochalException](read(isSent = true, unlisted))
    assert(error.condition == Conditions.ValueNotSent && error.values("column") == "document")
    Seq(read(isSent = false, unlisted), read(isSent = true, typed), read(isSent = false, typed))
      .foreach(row => assert(row == Seq("2", "new", "null")))
  }

  test("without the list of these columns the row would lack the value: it is refused") {
    def without(schema: StructType) = StructType(schema.filterNot(_.name == "_unchanged_columns"))
    val readers = Seq[() => Any](
      () => last(new TypedReader(new OneChange(RowChange.NewKey, identity), columns, without(typed)), without(typed)),
      () =>
        last(new GenericReader(new OneChange(RowChange.NewKey, identity), columns, without(generic)), without(generic)))
    readers.foreach { read =>
      val error = intercept[EpochalException](read())
      assert(error.condition == Conditions.ValueNotSent)
      assert(error.values("table") == "public.orders" && error.values("column") == "document")
      assert(error.getMessage.contains("(commit 0/7)"))
    }
  }
}
