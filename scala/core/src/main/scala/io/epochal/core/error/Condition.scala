package io.epochal.core.error

/** A kind of failure with a stable name: what went wrong and what to do about it, as templates over named values.
  *
  * Calling a condition with its values makes the exception. The message always reads
  * `[EPOCHAL.<NAME>] <problem> Hint: <hint>` in one line, which other languages parse.
  *
  * @param name
  *   stable upper-case name, part of the public contract
  * @param problem
  *   one sentence with `<value>` placeholders
  * @param hint
  *   what the user can do, with the same placeholders
  */
final case class Condition(name: String, problem: String, hint: String) {

  /** The placeholders of both templates. */
  val parameters: Set[String] = Condition.Placeholder.findAllMatchIn(problem + hint).map(_.group(1)).toSet

  def apply(values: (String, Any)*): EpochalException = because(null)(values: _*)

  /** The same with the failure underneath; its text is not repeated in the message. */
  def because(cause: Throwable)(values: (String, Any)*): EpochalException = {
    val texts = values.map { case (key, value) => key -> String.valueOf(value) }.toMap
    val missing = parameters -- texts.keySet
    require(missing.isEmpty, s"condition $name lacks the values ${missing.mkString(", ")}")
    EpochalException(this, texts, cause)
  }

  private[error] def render(values: Map[String, String]): String = {
    def fill(template: String): String =
      Condition.Placeholder.replaceAllIn(
        template,
        m => java.util.regex.Matcher.quoteReplacement(Condition.oneLine(values(m.group(1)))))
    s"[EPOCHAL.$name] ${fill(problem)} Hint: ${fill(hint)}"
  }
}

object Condition {
  private val Placeholder = "<([A-Za-z][A-Za-z0-9]*)>".r
  private val LineBreaks = "\\s*[\r\n]\\s*".r

  /** A message is one line, whatever a server or a driver wrote. */
  private def oneLine(value: String): String = LineBreaks.replaceAllIn(value.trim, " ")
}
