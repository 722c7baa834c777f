package io.epochal.kit.sink

import io.epochal.core.ledger.{OnEpochMismatch, OnLedgerEmpty, OnNewQuery}
import io.epochal.core.option.{NameList, OptionSpec, OptionType}

/** A sink's name in the ledger, and what is accepted that the ledger refuses. Each option names what it accepts: left in a job,
  * it accepts nothing else later. `replace` is the exception: it says of the job that it sends all rows whenever it begins.
  */
private[epochal] object IdentityOptions {

  private val Fail = "fail"
  private val Replace = "replace"

  private val sinkId = new OptionType[String](
    "string",
    s"a text that is not empty and does not begin with ${BatchCommit.IdPrefix}",
    "comments"
  )(text => Option(text).filter(t => t.nonEmpty && !t.startsWith(BatchCommit.IdPrefix)), identity)

  private val onNewQuery: OptionType[OnNewQuery] = new OptionType[OnNewQuery](
    "string",
    "fail, replace, or append: followed by the id that the error named (of a query, a sink or a table), more than one with commas between them",
    "append:5b3c9f0e-0000-4000-8000-00000000000a"
  )(
    text =>
      valueOf(text, "append")
        .flatMap(NameList.names)
        .map(ids => OnNewQuery(ids.toSet))
        .orElse(is(text, Replace)(OnNewQuery.Replace))
        .orElse(is(text, Fail)(OnNewQuery.Fail)),
    {
      case OnNewQuery.Fail    => Fail
      case OnNewQuery.Replace => Replace
      case on                 => s"append:${NameList.render(on.accepted.toSeq.sorted)}"
    }
  )

  private val onLedgerEmpty: OptionType[OnLedgerEmpty] = new OptionType[OnLedgerEmpty](
    "string",
    "fail, or write: or skip: followed by the number of the epoch that the error named",
    "skip:17"
  )(
    text =>
      epochOf(text, "write")
        .map(OnLedgerEmpty.Write(_))
        .orElse(epochOf(text, "skip").map(OnLedgerEmpty.Skip(_)))
        .orElse(is(text, Fail)(OnLedgerEmpty.Fail)),
    {
      case OnLedgerEmpty.Fail         => Fail
      case OnLedgerEmpty.Write(epoch) => s"write:$epoch"
      case OnLedgerEmpty.Skip(epoch)  => s"skip:$epoch"
    }
  )

  val SinkId: OptionSpec[String] = OptionSpec(
    "sinkId",
    sinkId,
    "Name of this sink in the ledger; keeps its identity when the checkpoint is lost. Unset: the query's id. Streaming only.",
    sample = Some("comments"))
  val NewQuery: OptionSpec[OnNewQuery] = OptionSpec(
    "onNewQuery",
    onNewQuery,
    "When the ledger knows the sink from another query, the table from another sink, or the sink from another table: fail says so, append:<id> goes on with this query's rows added. The id is what the error names; more than one have commas between them. An id that the ledger does not hold accepts nothing. replace empties the table in the transaction of the query's first epoch: it holds for every query that begins, also after a lost checkpoint.",
    Some(OnNewQuery.Fail)
  )
  val LedgerEmpty: OptionSpec[OnLedgerEmpty] = OptionSpec(
    "onLedgerEmpty",
    onLedgerEmpty,
    "When the ledger knows no epoch of a query that is at a later one than its first: fail says so, write:<epoch> writes that epoch and goes on from there, skip:<epoch> goes on behind it, since its rows are in the table. It counts for that epoch only.",
    Some(OnLedgerEmpty.Fail)
  )
  val EpochMismatch: OptionSpec[OnEpochMismatch] = OptionSpec(
    "onEpochMismatch",
    OptionType.choice(OnEpochMismatch.all)(_.name),
    "When an epoch is replayed with other rows and its offsets cannot be read: fail, or keep what is there.",
    Some(OnEpochMismatch.Fail))

  private def is[A](text: String, word: String)(value: A): Option[A] =
    Option.when(text.trim.equalsIgnoreCase(word))(value)

  private def valueOf(text: String, word: String): Option[String] = {
    val (found, value) = text.trim.span(_ != ':')
    Option.when(found.trim.equalsIgnoreCase(word) && value.nonEmpty)(value.drop(1))
  }

  private def epochOf(text: String, word: String): Option[Long] =
    valueOf(text, word).flatMap(_.trim.toLongOption).filter(_ >= 0)
}
