package io.epochal.cdc.change

import java.lang.Long.{compareUnsigned, parseUnsignedLong}
import java.util.Locale

import scala.util.{Try, Using}

import io.epochal.core.journal.FileStore

/** The last transaction, if it has no rows and is therefore not in the journal: a file that has its numbers in its name. Older files
  * are removed after a newer one is durable.
  */
final private[cdc] class WitnessFiles(store: FileStore) {

  def newest: Option[Transaction] =
    store.names().flatMap(WitnessFiles.parse).maxOption(WitnessFiles.byLsn)

  def write(transaction: Transaction): Unit = {
    val name = WitnessFiles.name(transaction)
    val older = store.names().filter(_ != name)
    if (!store.exists(name)) Using.resource(store.create(name)) { file =>
      // Some stores keep no empty files.
      file.write(Array[Byte](1), 0, 1)
      file.sync()
    }
    older.foreach(old => Try(store.delete(old)))
  }
}

private object WitnessFiles {
  private val Name = "([0-9a-f]{16})-([0-9a-f]{8})-(-?\\d+)-(-?\\d+)[.]last".r

  val byLsn: Ordering[Transaction] = (one, other) => compareUnsigned(one.lsn, other.lsn)

  def name(transaction: Transaction): String =
    "%016x-%08x-%d-%d.last".formatLocal(
      Locale.ROOT,
      transaction.lsn,
      transaction.xid,
      transaction.committedAt,
      transaction.stamp)

  def parse(name: String): Option[Transaction] = name match {
    case Name(lsn, xid, at, stamp) =>
      Try(Transaction(parseUnsignedLong(lsn, 16), Integer.parseUnsignedInt(xid, 16), at.toLong, stamp.toLong)).toOption
    case _ => None
  }
}
