package io.epochal.core.error

/** A kind of failure with a stable name: what went wrong and what to do about it, as templates over named values.
  *
  * Calling a condition with its values makes the exception. The message always reads
  * `[EPOCHAL.<NAME>] <problem> Hint: <hint>` in one line, which other languages parse.
  *
  * @param name
  *   stable upper-case name, part of the public contract
  * @param own
  *   its texts, where `conditions.json` does not have them
  */
final class Condition private (val name: String, own: Option[ConditionText]) extends Serializable {

  def text: ConditionText = own.getOrElse(ConditionText.of(name))

  /** The same condition with another hint. */
  def withHint(hint: String): Condition = new Condition(name, Some(text.copy(hint = hint)))

  /** Conditions of the same name are equal. */
  override def equals(other: Any): Boolean = other match {
    case condition: Condition => condition.name == name
    case _                    => false
  }

  override def hashCode(): Int = name.hashCode

  override def toString: String = name

  def apply(values: (String, Any)*): EpochalException = because(null)(values: _*)

  /** The exception with its cause, whose text is not repeated in the message. */
  def because(cause: Throwable)(values: (String, Any)*): EpochalException = {
    val texts = values.map { case (key, value) => key -> String.valueOf(value) }.toMap
    val missing = text.parameters -- texts.keySet
    require(missing.isEmpty, s"condition $name lacks the values ${missing.mkString(", ")}")
    EpochalException(this, texts, cause)
  }

  private[error] def render(values: Map[String, String]): String =
    s"${renderProblem(values)} Hint: ${fill(if (isBatch(values)) text.batchHint.getOrElse(text.hint) else text.hint, values)}"

  private[error] def renderProblem(values: Map[String, String]): String =
    s"[EPOCHAL.$name] ${fill(text.problem, values)}"

  private def isBatch(values: Map[String, String]): Boolean = values.get("epoch").exists(Condition.Batches)

  private def fill(template: String, values: Map[String, String]): String =
    Condition.Filled.replaceAllIn(
      if (isBatch(values)) Condition.ofBatch(template) else template,
      m => {
        val (whole, noun) = (Condition.oneLine(values(m.group(1))), Option(m.group(2)).getOrElse(""))
        val value = if (Condition.endsSentence(m.after)) whole.stripSuffix(".") else whole
        java.util.regex.Matcher.quoteReplacement(value + (if (value == "1") noun.stripSuffix("s") else noun))
      }
    )
}

object Condition {

  /** A condition whose texts are in `conditions.json`. */
  def apply(name: String): Condition = new Condition(name, None)

  /** A condition of another team's connector. */
  def apply(name: String, problem: String, hint: String): Condition =
    new Condition(name, Some(ConditionText(problem, hint)))

  /** A placeholder, with the noun that it counts: `<rows> rows` is filled as `1 row` too. */
  private val Filled = s"${ConditionText.Placeholder}( (?:attempt|byte|epoch|page|record|row)s\\b)?".r

  /** Stands for the epoch's number where a batch is written, which has none. */
  val BatchWrite = "(batch write)"

  private val Batches = Set(BatchWrite, "batch")

  /** An epoch in a message: `epoch 3`, or `the batch`. */
  def named(epoch: String): String = if (Batches(epoch)) "the batch" else s"epoch $epoch"

  /** Whether punctuation follows a value, which must then not end in a point itself, as the text of a driver does. */
  private def endsSentence(after: CharSequence): Boolean = after.length > 0 && ".,;".indexOf(after.charAt(0).toInt) >= 0

  private val LineBreaks = "\\s*[\r\n]\\s*".r

  /** The template for a batch write, which has neither an epoch nor a query to start again. */
  private def ofBatch(template: String): String =
    template
      .replace("Epoch <epoch>", "The batch")
      .replace("epoch <epoch>", "the batch")
      .replace("the epoch", "the batch")
      .replace("this epoch", "the batch")
      .replace("when the query is started again", "when the batch is written again")
      .replaceAll("(?i)start the query again(?: on its checkpoint)?", "write the batch again")
      .replaceAll("\\. write", ". Write")

  /** A message is one line, whatever a server or a driver wrote. */
  private def oneLine(value: String): String = {
    val shown = if (value.length > MaxLength) value.take(MaxLength) + "…" else value
    LineBreaks.replaceAllIn(shown.stripTrailing, " ")
  }

  /** Maximum characters of a value in a message: a server may have chosen it. */
  private val MaxLength = 20000
}
