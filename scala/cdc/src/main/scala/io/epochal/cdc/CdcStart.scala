package io.epochal.cdc

import java.lang.Long.compareUnsigned

import io.epochal.cdc.pgoutput.Lsn

/** Where a new query begins. */
sealed private[cdc] trait CdcStart {
  import CdcStart._

  /** The log position at which its changes begin; Left: why the slot does not have them.
    *
    * @param slot
    *   where the slot begins
    * @param latest
    *   where changes from now on begin
    */
  def position(slot: Long, latest: => Long): Either[String, Long] = this match {
    case Initial                                   => Right(slot)
    case Latest                                    => Right(latest)
    case At(lsn) if compareUnsigned(lsn, slot) < 0 => Left(s"begins at ${Lsn.show(slot)}, after ${Lsn.show(lsn)}")
    case At(lsn)                                   => Right(lsn)
  }
}

private[cdc] object CdcStart {

  /** The rows of the table, then its changes. */
  case object Initial extends CdcStart

  /** The changes from now on. */
  case object Latest extends CdcStart

  /** The changes from a log position on, which the slot still has. */
  final case class At(lsn: Long) extends CdcStart

  def read(text: String): Option[CdcStart] = text.trim match {
    case "initial" => Some(Initial)
    case "latest"  => Some(Latest)
    case other     => Lsn.read(other).map(At(_))
  }

  def show(start: CdcStart): String = start match {
    case Initial => "initial"
    case Latest  => "latest"
    case At(lsn) => Lsn.show(lsn)
  }
}
