package io.epochal.rest.source

import io.epochal.kit.record.ScannedPage
import io.epochal.rest.http.{HttpFailure, ResponseHead}

/** Where responses state the length of their list: at a JSON Pointer, in a header, or nowhere. */
final private[rest] case class ListTotal(pointer: Option[String] = None, header: Option[String] = None) {

  /** The place, as messages name it. */
  def place: Option[String] = pointer.map(at => s"'$at'").orElse(header.map(name => s"the header $name"))

  def isStated: Boolean = place.nonEmpty

  /** The length that a response states.
    *
    * @param isAbsent
    *   whether it has no body: it need not state one then, as without records
    * @return
    *   Left: the problem, to complete "it returned"
    */
  def read(head: ResponseHead, scanResult: ScannedPage, isAbsent: Boolean): Either[String, Option[Long]] =
    place.map(_ -> pointer.fold(header.flatMap(head.header))(scanResult.values.get(_).flatten)) match {
      case Some((place, Some(text))) if !isAbsent =>
        text.trim.toLongOption
          .filter(_ >= 0)
          .map(Some(_))
          .toRight(s"'${HttpFailure.excerpt(text.trim)}' at $place, which is no number of records")
      case Some((place, None)) if !isAbsent && scanResult.records > 0 =>
        Left(s"a response that does not say at $place how many records there are")
      case _ => Right(None)
    }
}

private[rest] object ListTotal {

  def of(options: RestOptions): ListTotal =
    ListTotal(options.values.get(CountingOptions.TotalCount), options.values.get(CountingOptions.TotalCountHeader))
}
