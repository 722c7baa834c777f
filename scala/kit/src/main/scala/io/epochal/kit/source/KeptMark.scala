package io.epochal.kit.source

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.epochal.core.journal.FileStore

/** The mark at the end of a run. No offset has it: the offset of the last batch was logged before the rows of that batch were
  * read.
  *
  * It is an empty file in the stream's part of the checkpoint, `event-time/<microseconds since 1970>`; the highest one counts.
  * It never affects which rows are read: a killed run leaves none, and a failure to write or read it is only logged.
  */
final private[source] class KeptMark(store: FileStore) {

  def read(): Option[Long] = quietly(Option.empty[Long])(KeptMark.highest(store.names()))

  /** Writes a mark, and removes lower ones. */
  def write(mark: Long): Unit = quietly(()) {
    val before = store.names()
    if (!KeptMark.highest(before).exists(_ >= mark)) {
      store.create(mark.toString).close()
      before.foreach(store.delete)
    }
  }

  private def quietly[A](otherwise: A)(body: => A): A =
    try body
    catch {
      case NonFatal(error) =>
        KeptMark.log.warn(s"The event time of the run's last batch could not be written to $store: $error")
        otherwise
    }
}

private[epochal] object KeptMark {
  private val log = LoggerFactory.getLogger(classOf[KeptMark])

  /** In the stream's part of the checkpoint. */
  val Directory = "event-time"

  /** The highest mark among file names. */
  def highest(names: Seq[String]): Option[Long] = names.flatMap(_.toLongOption).maxOption
}
