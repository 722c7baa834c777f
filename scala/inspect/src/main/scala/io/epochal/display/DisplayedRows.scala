package io.epochal.display

import java.lang.ref.WeakReference

import scala.collection.mutable

import org.apache.spark.sql.connector.write.WriterCommitMessage
import org.apache.spark.sql.types.StructType

/** Window of rows, bounded in number and size: the last rows, or with `keepsFirst` the first. Not thread-safe. */
final private[display] class RowWindow(settings: DisplaySettings, keepsFirst: Boolean) {
  private val kept = mutable.ArrayDeque.empty[Array[Byte]]
  private var bytes = 0L
  private var isFull = false

  /** @param row
    *   bytes of the row, which must not change; evaluated only if the row is kept
    * @return
    *   whether the row can be kept at all
    */
  def add(size: Int)(row: => Array[Byte]): Boolean = {
    val fits = size <= settings.maxBytes
    if (keepsFirst) {
      isFull ||= fits && (kept.size == settings.maxRows || bytes + size > settings.maxBytes)
      if (fits && !isFull) append(row)
    } else if (fits) {
      append(row)
      while (kept.size > settings.maxRows || bytes > settings.maxBytes) bytes -= kept.removeHead().length
    }
    fits
  }

  def rows: Array[Array[Byte]] = kept.toArray

  private def append(row: Array[Byte]): Unit = {
    kept.append(row)
    bytes += row.length
  }
}

/** Rows of one task.
  *
  * @param count
  *   number of all rows, kept or not
  * @param tooLarge
  *   number of rows that exceed a task's share of `maxBytes`
  */
final private[display] case class DisplayMessage(rows: Array[Array[Byte]], count: Long, tooLarge: Long)
    extends WriterCommitMessage

/** Rows of one display in the driver's memory, in Spark's binary form. Thread-safe. */
final private[display] class DisplayedRows(val settings: DisplaySettings, val schema: StructType) {
  private var window = new RowWindow(settings, keepsFirst = false)
  private var last = Map("epoch" -> "-1", "rows" -> "0")
  private var all = 0L
  private var tooLarge = 0L

  /** @param messages
    *   in partition order
    * @param replaces
    *   whether the epoch replaces all rows (output mode complete). Then the first rows are kept, since they may be sorted
    */
  def commit(epoch: Long, messages: Seq[DisplayMessage], replaces: Boolean): Unit = synchronized {
    if (replaces) window = new RowWindow(settings, keepsFirst = true)
    for (message <- messages; row <- message.rows) window.add(row.length)(row)
    val count = messages.map(_.count).sum
    all += count
    tooLarge += messages.map(_.tooLarge).sum
    last = Map("epoch" -> epoch.toString, "rows" -> count.toString)
  }

  def rows: Array[Array[Byte]] = synchronized(window.rows)

  def metrics: Map[String, String] = synchronized {
    last ++ Map("allRows" -> all.toString, "keptRows" -> rows.length.toString, "tooLargeRows" -> tooLarge.toString)
  }
}

/** The displays of this JVM. A display lives as long as its query, or a plan that reads it, such as that of a temporary view.
  */
private[display] object DisplayedRows {
  private val known = mutable.HashMap.empty[String, WeakReference[DisplayedRows]]

  def find(display: String): Option[DisplayedRows] = synchronized(known.get(display).flatMap(ref => Option(ref.get)))

  /** Returns the existing display or creates an empty one. */
  def of(settings: DisplaySettings, schema: StructType): DisplayedRows = synchronized {
    find(settings.display).getOrElse {
      known.filterInPlace((_, ref) => ref.get != null)
      val made = new DisplayedRows(settings, schema)
      known(settings.display) = new WeakReference(made)
      made
    }
  }
}
