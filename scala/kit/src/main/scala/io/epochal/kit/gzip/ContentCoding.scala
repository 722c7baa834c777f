package io.epochal.kit.gzip

import java.util.Locale

/** How a message is compressed (RFC 9110, section 8.4). */
private[epochal] object ContentCoding {

  /** Reads the `Content-Encoding` headers of a message.
    *
    * @param supportedCodings
    *   that the reader can decode
    * @return
    *   one of them; None: the message is not compressed; Left: another coding
    */
  def of(headers: Seq[String], supportedCodings: String*): Either[String, Option[String]] =
    headers.flatMap(_.split(',')).map(_.trim.toLowerCase(Locale.ROOT)).filterNot(Set("", "identity")) match {
      case Seq()                                            => Right(None)
      case Seq("x-gzip")                                    => Right(Some("gzip"))
      case Seq(coding) if supportedCodings.contains(coding) => Right(Some(coding))
      case other                                            => Left(other.mkString(", "))
    }
}
