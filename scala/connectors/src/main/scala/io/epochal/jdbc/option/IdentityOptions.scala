package io.epochal.jdbc.option

import io.epochal.core.ledger.{OnLedgerEmpty, OnNewQuery}
import io.epochal.core.option.{NameList, OptionType}

/** How the options are read that accept what the ledger refuses. Each names what it accepts: left in a job, it accepts
  * nothing else later.
  */
private[jdbc] object IdentityOptions {

  /** Of the names under which batches are listed, where streams have their sink ids. */
  val BatchPrefix = "batch:"

  val onNewQuery: OptionType[OnNewQuery] = new OptionType[OnNewQuery](
    "string",
    "fail, or append: followed by the id that the error named (of a query, a sink or a table), more than one with commas between them",
    "append:5b3c9f0e-0000-4000-8000-00000000000a"
  )(
    text =>
      valueOf(text, "append")
        .flatMap(NameList.names)
        .map(ids => OnNewQuery(ids.toSet))
        .orElse(fails(text)(OnNewQuery.Fail)),
    on => if (on == OnNewQuery.Fail) Fail else s"append:${NameList.render(on.accepted.toSeq.sorted)}"
  )

  val onLedgerEmpty: OptionType[OnLedgerEmpty] = new OptionType[OnLedgerEmpty](
    "string",
    "fail, or write: or skip: followed by the number of the epoch that the error named",
    "skip:17"
  )(
    text =>
      epochOf(text, "write")
        .map(OnLedgerEmpty.Write(_))
        .orElse(epochOf(text, "skip").map(OnLedgerEmpty.Skip(_)))
        .orElse(fails(text)(OnLedgerEmpty.Fail)),
    {
      case OnLedgerEmpty.Fail         => Fail
      case OnLedgerEmpty.Write(epoch) => s"write:$epoch"
      case OnLedgerEmpty.Skip(epoch)  => s"skip:$epoch"
    }
  )

  private val Fail = "fail"

  private def fails[A](text: String)(value: A): Option[A] = Option.when(text.trim.equalsIgnoreCase(Fail))(value)

  private def valueOf(text: String, word: String): Option[String] = {
    val (found, value) = text.trim.span(_ != ':')
    Option.when(found.trim.equalsIgnoreCase(word) && value.nonEmpty)(value.drop(1))
  }

  private def epochOf(text: String, word: String): Option[Long] =
    valueOf(text, word).flatMap(_.trim.toLongOption).filter(_ >= 0)
}
