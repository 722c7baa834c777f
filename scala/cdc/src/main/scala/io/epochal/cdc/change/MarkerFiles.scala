package io.epochal.cdc.change

import java.lang.Long.{compareUnsigned, parseUnsignedLong}
import java.nio.charset.StandardCharsets.US_ASCII
import java.util.Locale

import scala.collection.mutable
import scala.util.{Try, Using}

import io.epochal.core.journal.{FileStore, JournalDamage}
import io.epochal.kit.store.HadoopFileStore

/** The last transaction, if it has no rows and is therefore not in the journal: a file that has its numbers in its name, and its name
  * as content. Older files are removed after a newer one is durable.
  */
final private[cdc] class MarkerFiles(store: FileStore) {

  /** @throws JournalDamage
    *   if a file is not as it was written
    */
  def newest: Option[CommittedTransaction] =
    store.names().filter(_.endsWith(MarkerFiles.End)).map(read).maxOption(MarkerFiles.byLsn)

  private def read(name: String): CommittedTransaction = {
    val content = new String(store.content(name), US_ASCII)
    // A run that was killed leaves a part of it; older releases wrote one byte.
    if (!name.startsWith(content) && content != "\u0001") throw new JournalDamage(name, "it has another content")
    MarkerFiles.parse(name).getOrElse(throw new JournalDamage(name, "its name has no numbers"))
  }

  def clear(): Unit = store.deleteAll(store.names()): Unit

  /** Existing files. Only a fenced run may add one, which is older. */
  private lazy val present = mutable.Set.from(store.names())

  def write(transaction: CommittedTransaction): Unit = {
    val name = MarkerFiles.name(transaction)
    if (!present(name)) Using.resource(store.createUnique(name)) { file =>
      file.write(name.getBytes(US_ASCII), 0, name.length)
      file.sync()
    }
    present += name
    val older = present.toSeq.filter(_ != name)
    present --= older.diff(store.deleteAll(older).map(_._1))
  }
}

private[cdc] object MarkerFiles {

  /** The files beside a journal. */
  def in(store: HadoopFileStore): MarkerFiles = new MarkerFiles(store.below("witness"))

  val End = ".last"
  private val Name = "([0-9a-f]{16})-([0-9a-f]{8})-(-?\\d+)-(-?\\d+)[.]last".r

  val byLsn: Ordering[CommittedTransaction] = (one, other) => compareUnsigned(one.lsn, other.lsn)

  def name(transaction: CommittedTransaction): String =
    "%016x-%08x-%d-%d.last".formatLocal(
      Locale.ROOT,
      transaction.lsn,
      transaction.xid,
      transaction.committedAt,
      transaction.stamp)

  def parse(name: String): Option[CommittedTransaction] = name match {
    case Name(lsn, xid, at, stamp) =>
      Try(
        CommittedTransaction(
          parseUnsignedLong(lsn, 16),
          Integer.parseUnsignedInt(xid, 16),
          at.toLong,
          stamp.toLong)).toOption
    case _ => None
  }
}
