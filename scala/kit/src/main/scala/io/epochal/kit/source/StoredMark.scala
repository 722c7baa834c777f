package io.epochal.kit.source

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.epochal.core.journal.FileStore
import io.epochal.kit.store.HadoopFileStore

/** The time before which all that was committed at the origin is stored in the target, for `epochal status`: an empty file,
  * `stored-until/<microseconds since 1970>`. It never affects which rows are read, and a failure to write it is only logged.
  *
  * @param store
  *   the directory
  */
final private[epochal] class StoredMark(store: FileStore) {

  private var last = Option.empty[Long]

  /** Replaces the mark of an earlier run, which may be later: a query can be rewound. Within a run it never goes back. */
  def write(micros: Long): Unit = if (last.forall(_ < micros))
    try {
      val (present, others) = store.names().partition(_ == micros.toString)
      if (present.isEmpty) store.createUnique(micros.toString).close()
      store.deleteAll(others): Unit
      last = Some(micros)
    } catch {
      case NonFatal(error) => StoredMark.log.warn(s"What is stored could not be noted in $store: $error")
    }

  def clear(): Unit = store.deleteAll(store.names()): Unit
}

private[epochal] object StoredMark {
  private val log = LoggerFactory.getLogger(classOf[StoredMark])

  /** Below the directory of a journal, and of its source. */
  val Directory = "stored-until"
  val InSource: String = s"cdc/$Directory"

  /** The mark beside a journal. */
  def in(journal: HadoopFileStore): StoredMark = new StoredMark(journal.below(Directory))
}
