package io.epochal.cdc.change

import java.io.{ByteArrayOutputStream, DataOutputStream}
import java.nio.charset.StandardCharsets.UTF_8

import scala.util.Success

import io.epochal.cdc.pgoutput.Message.Relation
import io.epochal.cdc.pgoutput.{Message, TestTuple}
import io.epochal.cdc.slot.TableFacts
import io.epochal.kit.database.{PostgresColumn, PostgresType}

/** Messages as a server sends them, for a table `public.orders (id int4 PRIMARY KEY, note text)`. */
private[cdc] object ScriptedServer {
  private val Year2000 = 946684800L * 1000000L

  /** A statement that changes one row. */
  sealed trait Statement
  final case class Insert(id: Int, note: String) extends Statement

  /** @param from
    *   the id before, if it changes
    */
  final case class Update(from: Int, id: Int, note: String) extends Statement
  final case class Delete(id: Int) extends Statement
  case object Truncate extends Statement

  /** A committed transaction. */
  final case class Committed(lsn: Long, xid: Int, at: Long, statements: Seq[Statement])

  val Orders = 16384

  /** The columns of the table. */
  val Columns: Seq[PostgresColumn] = Seq("id" -> "int4", "note" -> "text").map { case (name, kind) =>
    PostgresColumn(name, -1, PostgresType(kind, -1, kind, oid = if (name == "id") 23 else 25))
  }

  /** A table with these columns, or some of them. */
  def facts(oid: Long, table: String, columns: Seq[String]): TableFacts =
    TableFacts(
      oid,
      "public",
      table,
      "r",
      "d",
      isLogged = true,
      isReadable = true,
      isOwned = true,
      Seq("id"),
      Nil,
      columns)

  /** All messages of a transaction; its table is defined first if `defines`. */
  def messages(transaction: Committed, defines: Boolean): Seq[Array[Byte]] = {
    val Committed(lsn, xid, at, statements) = transaction
    val begin = message('B') { out =>
      out.writeLong(lsn)
      out.writeLong(at - Year2000)
      out.writeInt(xid)
    }
    val commit = message('C') { out =>
      out.writeByte(0)
      out.writeLong(lsn)
      out.writeLong(lsn + 8)
      out.writeLong(at - Year2000)
    }
    val changes = statements.map {
      case Insert(id, note) =>
        message('I') { out =>
          out.writeInt(Orders)
          tuple(out, 'N', Some(id), Some(note))
        }
      case Update(from, id, note) =>
        message('U') { out =>
          out.writeInt(Orders)
          if (from != id) tuple(out, 'K', Some(from), None)
          tuple(out, 'N', Some(id), Some(note))
        }
      case Delete(id) =>
        message('D') { out =>
          out.writeInt(Orders)
          tuple(out, 'K', Some(id), None)
        }
      case Truncate =>
        message('T') { out =>
          out.writeInt(1)
          out.writeByte(0)
          out.writeInt(Orders)
        }
    }
    (begin +: (if (defines && statements.nonEmpty) Seq(relation) else Nil)) ++ changes :+ commit
  }

  val relation: Array[Byte] = message('R') { out =>
    out.writeInt(Orders)
    text(out, "public")
    text(out, "orders")
    out.writeByte('d')
    out.writeShort(2)
    Seq(("id", 23, true), ("note", 25, false)).foreach { case (name, oid, key) =>
      out.writeByte(if (key) 1 else 0)
      text(out, name)
      out.writeInt(oid)
      out.writeInt(-1)
    }
  }

  /** Reads a message into an intake that captures the table. */
  def read(intake: ChangeIntake, message: Array[Byte]): Option[ChangeFrame] =
    Message.read(message, 0, message.length) match {
      case relation: Relation => intake.define(relation, Success(Some(CapturedTable(relation, Seq("id")))))
      case other              => intake.read(other)
    }

  private def tuple(out: DataOutputStream, kind: Char, values: Option[Any]*): Unit = {
    out.writeByte(kind.toInt)
    out.write(TestTuple.of(values.map(_.orNull): _*))
  }

  private def text(out: DataOutputStream, value: String): Unit = {
    out.write(value.getBytes(UTF_8))
    out.writeByte(0)
  }

  private def message(kind: Char)(body: DataOutputStream => Unit): Array[Byte] = {
    val bytes = new ByteArrayOutputStream
    val out = new DataOutputStream(bytes)
    out.writeByte(kind.toInt)
    body(out)
    bytes.toByteArray
  }
}
