package io.epochal.ingest.http.body

import java.util.Locale

/** How a body holds records, by its `Content-Type`. */
sealed private[http] trait BodyFormat {

  /** Finds the records.
    *
    * @param length
    *   of the body, which begins at index 0
    * @param keepMalformed
    *   whether what is malformed is kept as it is: of lines those at fault, of other bodies the whole as one record
    * @throws Refused
    *   the body is malformed, or beyond a limit
    */
  def split(bytes: Array[Byte], length: Int, limits: RecordLimits, keepMalformed: Boolean): SplitBody
}

private[http] object BodyFormat {

  /** `text/plain`: each line is a record, without its line break. */
  case object Lines extends BodyFormat {
    override def split(bytes: Array[Byte], length: Int, limits: RecordLimits, keepMalformed: Boolean): SplitBody =
      LineSplit.text(bytes, length, limits, check = !keepMalformed)
  }

  /** `application/x-ndjson`: each line that is not blank is a JSON value, and a record. */
  case object Ndjson extends BodyFormat {
    override def split(bytes: Array[Byte], length: Int, limits: RecordLimits, keepMalformed: Boolean): SplitBody =
      LineSplit.json(bytes, length, limits, check = !keepMalformed)
  }

  /** `application/json`: each element of an array, or any other value whole. */
  case object Json extends BodyFormat {
    override def split(bytes: Array[Byte], length: Int, limits: RecordLimits, keepMalformed: Boolean): SplitBody =
      orWhole(bytes, length, limits, keepMalformed)(JsonSplit(bytes, length, limits))
  }

  /** `application/x-www-form-urlencoded`: one record, a JSON object of the fields. */
  case object Form extends BodyFormat {
    override def split(bytes: Array[Byte], length: Int, limits: RecordLimits, keepMalformed: Boolean): SplitBody =
      orWhole(bytes, length, limits, keepMalformed)(FormRecord(bytes, length, limits))
  }

  /** What the formats are called, for a client that sends another. */
  val Accepted: Seq[String] =
    Seq("text/plain", "application/x-ndjson", "application/json", "application/x-www-form-urlencoded")

  /** @return
    *   None: a type that is not read, or another charset than UTF-8
    */
  def of(contentType: Option[String]): Option[BodyFormat] = {
    val parts = contentType.getOrElse("").toLowerCase(Locale.ROOT).split(';').map(_.trim)
    val charset = parts.drop(1).collectFirst { case s"charset=$name" => name.replace("\"", "").trim }
    val format = parts.headOption.getOrElse("") match {
      case "text/plain"                                                                   => Some(Lines)
      case "application/x-ndjson" | "application/ndjson" | "application/jsonl"            => Some(Ndjson)
      case "application/x-www-form-urlencoded"                                            => Some(Form)
      case name if name == "application/json" || name.matches("application/[^/]+[+]json") => Some(Json)
      case _                                                                              => None
    }
    format.filter(_ => charset.forall(Set("utf-8", "utf8", "us-ascii")))
  }

  private def orWhole(bytes: Array[Byte], length: Int, limits: RecordLimits, keepMalformed: Boolean)(
      split: => SplitBody): SplitBody =
    try split
    catch {
      case refused: Refused if keepMalformed && refused.refusal.reason == Refusal.Malformed =>
        val spans = new RecordSpans(limits)
        spans.add(0, length)
        spans.packed(bytes)
    }
}
