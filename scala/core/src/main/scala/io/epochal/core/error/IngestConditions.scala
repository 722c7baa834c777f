package io.epochal.core.error

/** Of sources that clients write to: a part of [[Conditions]]. */
private[error] trait IngestConditions {

  val PortUnavailable = Condition(
    "PORT_UNAVAILABLE",
    "<format> cannot listen on <address>: <reason>.",
    "Stop what listens there (ss -ltnp shows it), or set another port; port=0 takes a free one, which the query's progress names. 'host' must be an address of the driver's machine."
  )
  val ListenerExposed = Condition(
    "LISTENER_EXPOSED",
    "<format> would listen on <address>, which other machines may reach, without protection.",
    "Set <protection>; or listen on host=127.0.0.1 and put a proxy before it."
  )
  val JournalFenced = Condition(
    "JOURNAL_FENCED",
    "Another run of the query has taken over the journal of <source> in <path>; this one adds nothing to it any more.",
    "Two runs use one checkpoint. Stop one of them; nothing that is in the journal is lost."
  )
  val FeedFailed = Condition(
    "FEED_FAILED",
    "The driver receives nothing more from <source>: <reason>",
    "Mend that, and start the query again: it goes on where it was."
  )
  val IntakeStopped = Condition(
    "INTAKE_STOPPED",
    "The query of <source> was stopped before the record was stored.",
    "Send it again when the query runs again."
  )
  val LineTooLong = Condition(
    "LINE_TOO_LONG",
    "<remote> sent a line of more than <limit> bytes.",
    "Send shorter lines, or raise maxLineBytes. The lines before it are stored; the connection was closed."
  )

  protected val ofIngest: Seq[Condition] =
    Seq(PortUnavailable, ListenerExposed, JournalFenced, FeedFailed, IntakeStopped, LineTooLong)
}
