package io.epochal.display

import io.epochal.core.error.EpochalException
import io.epochal.core.option.{OptionGroup, OptionSpec, OptionType}

/** Validated settings of a display.
  *
  * @param checkpoint
  *   the query's checkpoint; None for a reader
  * @param queryName
  *   None for a reader
  */
final case class DisplaySettings(
    display: String,
    maxRows: Int,
    maxBytes: Long,
    checkpoint: Option[String],
    queryName: Option[String]) {

  /** The limits for one task. A task does not know the rows of the others, so its share is more than an equal part. */
  def share(tasks: Int): DisplaySettings =
    copy(maxBytes = math.min(maxBytes, math.max(maxBytes / math.max(tasks, 1), DisplaySettings.SmallestShare)))
}

object DisplaySettings {
  val Format = "epochal-display"
  private val SmallestShare = 256L << 10

  val Display: OptionSpec[String] = OptionSpec(
    "display",
    OptionType.string,
    "Name of the display. Anyone who knows it can read the rows.",
    required = true,
    secret = true)
  val MaxRows: OptionSpec[Int] = OptionSpec("maxRows", OptionType.int(1, 100000), "Maximum kept rows.", Some(1000))
  val MaxBytes: OptionSpec[Long] =
    OptionSpec("maxBytes", OptionType.bytes, "Maximum size of the rows in Spark's binary form.", Some(4L << 20))

  /** Undocumented format: `epochal.display` in Python is its only caller. */
  val group: OptionGroup =
    OptionGroup(Format, "The last rows of a stream, in the driver's memory.", Seq(Display, MaxRows, MaxBytes))

  def read(raw: Map[String, String]): Either[EpochalException, DisplaySettings] = {
    def ofSpark(name: String) = raw.collectFirst { case (key, value) if key.equalsIgnoreCase(name) => value }
    group.parse(raw).map { values =>
      DisplaySettings(
        values(Display),
        values(MaxRows),
        values(MaxBytes),
        ofSpark("checkpointLocation"),
        ofSpark("queryName"))
    }
  }
}
