package io.epochal.cdc.change

/** The effect of a TRUNCATE on a query. */
sealed abstract private[cdc] class OnTruncate(val name: String)

private[cdc] object OnTruncate {
  case object Fail extends OnTruncate("fail")
  case object Emit extends OnTruncate("emit")
  case object Ignore extends OnTruncate("ignore")
  val all: Seq[OnTruncate] = Seq(Fail, Emit, Ignore)
}
