package io.epochal.core.journal

import java.io.IOException
import java.nio.file.FileAlreadyExistsException
import java.util.Locale

/** Decides which run may add to a journal: the one with the highest generation. Each run has one file, in a separate directory.
  *
  * @param run
  *   32 hexadecimal digits, unique to the run
  * @param isConditional
  *   whether the store has proven to create files conditionally: see [[FileStore.createConditionally]]
  */
final private[epochal] class Generation(store: FileStore, run: String, val number: Long, val isConditional: Boolean) {
  private val name = Generation.name(number, run)

  /** Whether no other run has claimed this generation or a higher one.
    *
    * @throws java.io.IOException
    *   if that cannot be determined
    */
  def isOwn: Boolean = {
    val names = store.names()
    val own = !names.exists(other => other != name && Generation.number(other).exists(_ >= number))
    if (own && !names.contains(name))
      throw new IOException(s"$name is not there: the checkpoint was removed or changed")
    own
  }

  /** Removes the run's file: it writes nothing any more. */
  def end(): Unit = store.delete(name)
}

private[epochal] object Generation {
  private val Name = "(\\d{19})-([0-9a-f]{32})[.]run".r

  /** Claims a generation above all existing ones and above `known`. If two runs claim at once, the later one to look sees the
    * other's file and claims a higher generation: only one run stays the highest. The files of earlier runs are removed then.
    *
    * @param conditional
    *   whether to find out if the store creates files conditionally
    * @param succeed
    *   called with the claim and the earlier runs before their files are removed: if it fails, the next run finds them
    */
  @scala.annotation.tailrec
  def claim(store: FileStore, run: String, known: Long, conditional: Boolean = false)(
      succeed: (Generation, Seq[EarlierRun]) => Unit): Generation = {
    val next = math.max(known, highest(store)) + 1
    val isConditional = conditional && createConditionally(store, name(next, run))
    if (!isConditional) {
      val file = store.createUnique(name(next, run))
      try file.sync()
      finally file.close()
    }
    val own = new Generation(store, run, next, isConditional)
    if (own.isOwn) {
      val lengths = store.lengths()
      val earlier = lengths.keys.toSeq.filter(number(_).exists(_ < next))
      val runs = earlier.collect { case file @ Name(digits, id) => EarlierRun(digits.toLong, id, lengths(file) > 0) }
      succeed(own, runs.filter(_.run != run))
      store.deleteAll(earlier): Unit
      own
    } else claim(store, run, next, conditional)(succeed)
  }

  /** The highest generation whose file exists; 0 if there is none. */
  def highest(store: FileStore): Long = store.names().flatMap(number(_)).maxOption.getOrElse(0L)

  def name(number: Long, run: String): String = s"${"%019d".formatLocal(Locale.ROOT, number)}-$run.run"

  private def number(name: String): Option[Long] = name match {
    case Name(digits, _) => digits.toLongOption
    case _               => None
  }

  /** Creates the file of a run with one byte, if the store lets only one of two writers of a name succeed. A store that ignores
    * the condition is left with the empty file of the second.
    */
  private def createConditionally(store: FileStore, name: String): Boolean =
    (store.createConditionally(name) zip store.createConditionally(name)).exists { case (first, second) =>
      first.write(Array[Byte](1), 0, 1)
      first.close()
      try {
        second.close()
        false
      } catch { case _: FileAlreadyExistsException => true }
    }
}
