package io.epochal.kit.store

import io.epochal.core.hash.Sha256

/** A file of Spark's offset log or commit log: a version, a line of settings and watermarks, and in the offset log a line for
  * each source. Only the sources' lines determine an epoch's rows. Version 2 names the sources, in any order.
  */
final private[epochal] class LogText(text: String) {
  private val rawLines = text.split("\n", -1).toSeq

  /** Without the empty lines at the end, which Spark ignores, too. */
  val lines: Seq[String] = rawLines.take(rawLines.lastIndexWhere(_.nonEmpty) + 1)

  /** The second line; None if it is missing. */
  def settings: Option[String] = rawLines.lift(1)

  def sources: Seq[String] = lines.drop(2)

  /** 32 hexadecimal digits of SHA-256 over the version and the sources; None if the version is unknown. */
  def offsetsHash: Option[String] = lines match {
    case "v1" +: _ +: _ => Some(hash(sources))
    case "v2" +: _ +: _ => Some(hash(sources.sorted))
    case _              => None
  }

  private def hash(sourceLines: Seq[String]): String = Sha256.hex((lines.head +: sourceLines).mkString("\n"), 16)
}
