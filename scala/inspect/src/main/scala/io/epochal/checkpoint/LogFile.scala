package io.epochal.checkpoint

import scala.util.Try

import com.fasterxml.jackson.databind.{DeserializationFeature, JsonNode, ObjectMapper}

import io.epochal.kit.store.LogText

/** A file of either log.
  *
  * @param log
  *   at least one line
  * @param metadata
  *   the second line; None: it is empty or missing
  */
final private[checkpoint] case class LogFile(log: LogText, metadata: Option[JsonNode]) {

  def number(name: String): Option[Long] =
    metadata.flatMap(node => Option(node.get(name))).filter(_.isIntegralNumber).map(_.longValue)
}

private[checkpoint] object LogFile {
  private val mapper = new ObjectMapper().enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
  private val Version = "v\\d+".r

  /** @return
    *   Left: why Spark could not read the file
    */
  def read(text: String, versions: Seq[String]): Either[String, LogFile] = {
    val log = new LogText(text)
    log.lines.headOption match {
      case None                                        => Left("it is empty")
      case Some(version) if versions.contains(version) => metadata(log.settings.getOrElse("")).map(LogFile(log, _))
      case Some(version @ Version()) =>
        Left(s"it is of version $version, and ${versions.init.mkString(", ")} and ${versions.last} are known")
      case Some(_) => Left("it does not begin with a version")
    }
  }

  private def metadata(line: String): Either[String, Option[JsonNode]] =
    if (line.trim.isEmpty) Right(None)
    else
      json(line)
        .toRight("its second line is not JSON: the file is torn")
        .filterOrElse(_.isObject, "its second line is not a JSON object")
        .map(Some(_))

  def json(text: String): Option[JsonNode] = Try(mapper.readTree(text)).toOption.filterNot(_.isMissingNode)
}
