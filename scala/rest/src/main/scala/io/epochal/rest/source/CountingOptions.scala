package io.epochal.rest.source

import io.epochal.core.error.EpochalException
import io.epochal.core.option.{OptionType, OptionValues}
import io.epochal.kit.access.SecretOptionList

/** The options of lists whose records are counted. */
private[rest] object CountingOptions extends SecretOptionList {

  val TotalCount = option("totalCount", OptionType.jsonPointer, sample = Some("/meta/total"))(
    "JSON Pointer to the total number of records, which saves the search for the end (pagination=offset, page; bodyFormat=json).")
  val TotalCountHeader = option("totalCountHeader", OptionType.string, sample = Some("X-Total-Count"))(
    "Response header with that number, instead of totalCount (pagination=offset, page).")
  val Drift = option("onDrift", OptionType.oneOf("fail", "warn", "restart"), sample = Some("restart"))(
    "If a list has fewer records than delivered, or others at their positions (LIST_SHIFTED): fail; warn resumes once there are more; restart reads all again, so rows come twice (not with partitionParams or journal=true) (pagination=none, offset, page). Unset: fail, or warn with failOnDataLoss=false.")
  val VerifyPosition = option("verifyPosition", OptionType.oneOf("start", "always", "never"), Some("start"))(
    "When a poll also requests the page of the last delivered record that it knows, to notice insertions and deletions before it: at each start and when a total has become smaller (start), always, or never (pagination=offset, page; with journal=true only always).")

  def check(values: OptionValues): Either[EpochalException, Unit] =
    for {
      _ <- values.exclusive("Keep the one that the API uses.")(TotalCount, TotalCountHeader)
      _ <- values.consistent(!values.isSet(TotalCount) || values(RecordOptions.Format) == "json")(
        s"{option:totalCount}, {option:bodyFormat=${values(RecordOptions.Format)}}",
        "Set {option:totalCountHeader} instead: such a body has only records.")
      _ <- values.consistent(!values.get(Drift).contains("restart") || !values(PollOptions.Journal))(
        "{option:onDrift=restart}, {option:journal=true}",
        "Leave {option:journal} out: a journal has one list, from its first record to its last.")
    } yield ()
}
