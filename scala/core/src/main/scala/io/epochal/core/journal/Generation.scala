package io.epochal.core.journal

import java.io.IOException
import java.util.Locale

import scala.util.Try

/** Decides which run may add to a journal: the one with the highest generation. Each run has one file, in a separate directory.
  *
  * @param run
  *   32 hexadecimal digits, unique to the run
  */
final private[epochal] class Generation(store: FileStore, run: String, val number: Long) {
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

  /** Removes the files of earlier runs. */
  private def sweep(): Unit =
    store.names().filter(Generation.number(_).exists(_ < number)).foreach(old => Try(store.delete(old)))
}

private[epochal] object Generation {
  private val Name = "(\\d{19})-[0-9a-f]{32}[.]run".r

  /** Claims a generation above all existing ones and above `known`. If two runs claim at once, the later one to look sees the
    * other's file and claims a higher generation: only one run stays the highest.
    */
  @scala.annotation.tailrec
  def claim(store: FileStore, run: String, known: Long): Generation = {
    val next = math.max(known, highest(store)) + 1
    val file = store.create(name(next, run))
    try file.sync()
    finally file.close()
    val claimed = new Generation(store, run, next)
    if (claimed.isOwn) {
      claimed.sweep()
      claimed
    } else claim(store, run, next)
  }

  /** The highest generation whose file exists; 0 if there is none. */
  def highest(store: FileStore): Long = store.names().flatMap(number(_)).maxOption.getOrElse(0L)

  def name(number: Long, run: String): String = s"${"%019d".formatLocal(Locale.ROOT, number)}-$run.run"

  private def number(name: String): Option[Long] = name match {
    case Name(digits) => digits.toLongOption
    case _            => None
  }
}
