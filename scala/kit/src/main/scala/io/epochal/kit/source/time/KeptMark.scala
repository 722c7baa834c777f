package io.epochal.kit.source.time

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.epochal.core.journal.FileStore

/** The mark at the end of a run, which no offset has: the offset of its last batch was logged before the rows of that batch were read.
  *
  * An empty file in the stream's part of the checkpoint, `event-time/<microseconds since 1970>`, of which the highest counts. It decides
  * no rows: a run that is killed leaves none, and one that cannot be written or read is logged.
  */
final private[source] class KeptMark(store: FileStore) {

  def read(): Option[Long] = quietly(Option.empty[Long])(KeptMark.highest(store.names()))

  /** Keeps a mark in place of lower ones. */
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
        KeptMark.log.warn(s"The event time of the run's last batch is not kept in $store: $error")
        otherwise
    }
}

private[epochal] object KeptMark {
  private val log = LoggerFactory.getLogger(classOf[KeptMark])

  /** In the stream's part of the checkpoint. */
  val Directory = "event-time"

  /** Of the names in it. */
  def highest(names: Seq[String]): Option[Long] = names.flatMap(_.toLongOption).maxOption
}
