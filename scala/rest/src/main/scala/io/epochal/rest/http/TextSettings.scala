package io.epochal.rest.http

/** How text is read.
  *
  * @param byLines
  *   whether it consists of lines: if only the end of the connection ends a body, its last line must have a line break
  * @param encoding
  *   its charset; None: the one that its Content-Type declares, else UTF-8
  */
final case class TextSettings(byLines: Boolean, encoding: Option[String])
