package io.epochal.core.error

import scala.jdk.CollectionConverters._
import scala.util.Using

import com.fasterxml.jackson.databind.ObjectMapper

/** The templates of a condition.
  *
  * @param problem
  *   one sentence with `<value>` placeholders
  * @param hint
  *   what the user can do, with the same placeholders
  * @param batchHint
  *   the hint where a batch is written, if it is another one
  */
final case class ConditionText(problem: String, hint: String, batchHint: Option[String] = None) {

  /** The placeholders of the templates. */
  lazy val parameters: Set[String] =
    ConditionText.Placeholder.findAllMatchIn(problem + hint + batchHint.getOrElse("")).map(_.group(1)).toSet
}

object ConditionText {
  private[error] val Placeholder = "<([A-Za-z][A-Za-z0-9]*)>".r

  /** Read with the first error. */
  private lazy val entries: Seq[(String, ConditionText)] =
    Using.resource(getClass.getResourceAsStream("conditions.json")) { in =>
      new ObjectMapper().readTree(in).properties.asScala.toSeq.map { field =>
        val texts = field.getValue
        val batchHint = Option(texts.get("batchHint")).map(_.asText)
        field.getKey -> ConditionText(texts.get("problem").asText, texts.get("hint").asText, batchHint)
      }
    }
  private lazy val byName = entries.toMap

  private[error] def names: Seq[String] = entries.map(_._1)

  private[error] def of(name: String): ConditionText = byName(name)
}
