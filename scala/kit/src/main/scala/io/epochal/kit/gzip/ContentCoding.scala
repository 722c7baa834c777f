package io.epochal.kit.gzip

import java.util.Locale

/** How a message is compressed (RFC 9110, section 8.4). */
private[epochal] object ContentCoding {

  /** Reads the `Content-Encoding` headers of a message.
    *
    * @return
    *   whether the message is compressed by gzip; Left: another coding
    */
  def isGzip(headers: Seq[String]): Either[String, Boolean] =
    headers.flatMap(_.split(',')).map(_.trim.toLowerCase(Locale.ROOT)).filterNot(Set("", "identity")) match {
      case Seq()                  => Right(false)
      case Seq("gzip" | "x-gzip") => Right(true)
      case other                  => Left(other.mkString(", "))
    }
}
