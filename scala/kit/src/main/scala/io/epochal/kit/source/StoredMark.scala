package io.epochal.kit.source

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.epochal.core.journal.FileStore

/** The time before which all that was committed at the origin is stored in the target, for `epochal status`: an empty file,
  * `stored-until/<microseconds since 1970>`. It never affects which rows are read, and a failure to write it is only logged.
  *
  * @param store
  *   the directory
  */
final private[epochal] class StoredMark(store: FileStore) {

  /** Replaces the mark, also by an earlier one: a query can be rewound. */
  def write(micros: Long): Unit =
    try {
      val earlier = store.names().filter(_ != micros.toString)
      store.createUnique(micros.toString).close()
      store.deleteAll(earlier): Unit
    } catch {
      case NonFatal(error) => StoredMark.log.warn(s"What is stored could not be noted in $store: $error")
    }
}

private[epochal] object StoredMark {
  private val log = LoggerFactory.getLogger(classOf[StoredMark])

  /** Below the directory of a journal. */
  val Directory = "stored-until"
}
