package io.epochal.kit.sink

import java.util.Locale

import io.epochal.core.ledger.{OnEpochMismatch, OnLedgerEmpty, OnNewQuery}
import io.epochal.core.option.{NameList, OptionList, OptionSpec, OptionType, OptionValues}

/** A sink's name in the ledger, and exceptions to what the ledger rejects. Each option names the accepted ids or epoch, so if
  * it stays in a job it accepts nothing else later. The exception is `replace`, which declares that the job sends all rows
  * whenever it begins.
  */
private[epochal] object IdentityOptions extends OptionList {

  private val Fail = "fail"
  private val Replace = "replace"

  private val sinkId = new OptionType[String](
    "string",
    s"a text that is not empty and does not begin with ${BatchCommit.IdPrefix}",
    "comments"
  )(text => Option(text).filter(t => t.nonEmpty && !t.startsWith(BatchCommit.IdPrefix)), identity)

  private val onNewQuery: OptionType[OnNewQuery] = new OptionType[OnNewQuery](
    "fail/replace/append:ids",
    "fail, replace, or append: followed by the id that the error named (of a query, a sink or a table), more than one with commas between them",
    "append:5b3c9f0e-0000-4000-8000-00000000000a"
  )(
    parts(_) match {
      case ("append", Some(ids)) => NameList.names(ids).map(names => OnNewQuery(names.toSet))
      case (Replace, None)       => Some(OnNewQuery.Replace)
      case (Fail, None)          => Some(OnNewQuery.Fail)
      case _                     => None
    },
    {
      case OnNewQuery.Fail    => Fail
      case OnNewQuery.Replace => Replace
      case on                 => s"append:${NameList.render(on.accepted.toSeq.sorted)}"
    }
  )

  private val onLedgerEmpty: OptionType[OnLedgerEmpty] = new OptionType[OnLedgerEmpty](
    "fail/write:epoch/skip:epoch",
    "fail, or write: or skip: followed by the number of the epoch that the error named",
    "skip:17"
  )(
    parts(_) match {
      case ("write", Some(epoch)) => epochOf(epoch).map(OnLedgerEmpty.Write(_))
      case ("skip", Some(epoch))  => epochOf(epoch).map(OnLedgerEmpty.Skip(_))
      case (Fail, None)           => Some(OnLedgerEmpty.Fail)
      case _                      => None
    },
    {
      case OnLedgerEmpty.Fail         => Fail
      case OnLedgerEmpty.Write(epoch) => s"write:$epoch"
      case OnLedgerEmpty.Skip(epoch)  => s"skip:$epoch"
    }
  )

  val SinkId = option("sinkId", sinkId, sample = Some("comments"))(
    "Sink name in the ledger, which keeps its identity if the checkpoint is lost. Unset: the query's id. Streaming only.")
  val NewQuery = option("onNewQuery", onNewQuery, Some(OnNewQuery.Fail))(
    "If the ledger knows another query, sink or table: fail; append:<id>,… adds this query's rows, for the ids that the error names and no others; replace empties the table in the first epoch's transaction of every new query, also after a lost checkpoint.")
  val LedgerEmpty = option("onLedgerEmpty", onLedgerEmpty, Some(OnLedgerEmpty.Fail))(
    "If the ledger has no epoch of a query beyond its first: fail; write:<epoch> writes that epoch; skip:<epoch> skips it, because its rows are in the table. Applies to that epoch only.")
  val EpochMismatch =
    option("onEpochMismatch", OptionType.choice(OnEpochMismatch.all)(_.name), Some(OnEpochMismatch.Fail))(
      "For a replay with other rows whose offsets cannot be read: fail, or keep the stored rows.")

  /** The settings of a sink that stores every row, with the sink's own options for the rows' transport. */
  def settings(
      values: OptionValues,
      inlineMaxBytes: OptionSpec[Long],
      spillDirectory: OptionSpec[String]): SinkSettings = SinkSettings(
    values.get(SinkId),
    values(NewQuery),
    values(LedgerEmpty),
    values(EpochMismatch),
    values(inlineMaxBytes),
    values.get(spillDirectory),
    badRowLimit = None)

  /** `word` or `word:value`, the word in lower case. */
  private def parts(text: String): (String, Option[String]) = {
    val (word, value) = text.trim.span(_ != ':')
    (word.trim.toLowerCase(Locale.ROOT), Option.when(value.nonEmpty)(value.drop(1)))
  }

  private def epochOf(text: String): Option[Long] = text.trim.toLongOption.filter(_ >= 0)
}
