package io.epochal.cdc

import java.lang.Long.compareUnsigned
import java.sql.SQLException

import io.epochal.cdc.pgoutput.Lsn
import io.epochal.cdc.slot.{CaptureServer, ServerFacts}
import io.epochal.core.error.{Conditions, EpochalException}

/** Decides whether a server can still send the changes after those in the checkpoint. */
private[cdc] object ResumeCheck {

  /** @param position
    *   of the last transaction in the checkpoint
    * @param url
    *   of the server, for the error
    */
  def refusal(origin: CdcOrigin, position: Long, facts: ServerFacts, url: String): Option[EpochalException] = {
    val server = facts.server
    def serverChange(change: String) = Some(Conditions.ServerChanged("url" -> url, "change" -> change))
    def loss(what: String) = Some(slotLost(origin.slot, url, what))
    facts.slot match {
      case _ if server.systemId != origin.system =>
        serverChange(
          s"another system identifier, ${server.systemId} instead of ${origin.system}, as a new installation or a restored dump has")
      // A standby that was promoted. Other slots may have been created on it, too late.
      case slot if server.timeline != origin.timeline && !slot.exists(one => one.failover && one.isSynced) =>
        serverChange(
          s"another timeline, ${server.timeline} instead of ${origin.timeline}, as a promoted standby or a backup restored to a point in time has, and no slot ${origin.slot} from its primary")
      case None => loss("does not exist")
      case Some(slot) if slot.status == "lost" || slot.invalidation.nonEmpty =>
        loss(s"was invalidated${slot.invalidation.fold("")(reason => s" ($reason)")}")
      // The log of a standby may end earlier after its restart.
      case _ if !server.isStandby && compareUnsigned(server.end, position) < 0 =>
        serverChange(
          s"a log up to ${Lsn.show(server.end)}, before the ${Lsn.show(position)} of the checkpoint, as a restored older copy of its files has")
      case Some(slot) if slot.confirmed.exists(compareUnsigned(_, position) > 0) =>
        loss(s"was moved to ${Lsn.show(slot.confirmed.get)}, beyond the ${Lsn.show(position)} of the checkpoint")
      case _ => Option.when(facts.publication.isEmpty && origin.isWatched)(droppedPublication(origin))
    }
  }

  def slotLost(slot: String, url: String, what: String): EpochalException =
    Conditions.SlotLost("slot" -> slot, "url" -> url, "what" -> what)

  /** The instruction where a slot is of no use any more. */
  def loadAgain(origin: CdcOrigin): String =
    s"Load the table again: SELECT pg_drop_replication_slot('${origin.slot}'); then start the query with a new checkpoint and {option:startingOffset=initial}."

  /** The error for a publication that is gone: without it the server cannot decode the slot's changes. */
  private def droppedPublication(origin: CdcOrigin): EpochalException =
    Conditions.CaptureChanged.withHint(loadAgain(origin))(
      "change" -> s"the publication ${origin.publication} was dropped")

  /** From the stream of a slot: the publication did not exist when a change was made. */
  def isWithoutPublication(error: SQLException): Boolean = error.getSQLState == "42704"

  /** Our error for one of the stream. */
  def explain(error: SQLException, origin: CdcOrigin, server: CaptureServer): EpochalException =
    if (isWithoutPublication(error)) withoutPublication(origin, server.place, error) else server.explain(error)

  /** The error for changes from before the publication, which the server can no longer decode. */
  private def withoutPublication(origin: CdcOrigin, url: String, cause: Throwable): EpochalException =
    Conditions.SlotLost
      .withHint(
        s"Drop it: SELECT pg_drop_replication_slot('${origin.slot}'). Then load the table again: start the query with a new checkpoint and {option:startingOffset=initial}.")
      .because(cause)(
        "slot" -> origin.slot,
        "url" -> url,
        "what" -> s"has changes from before the publication ${origin.publication} was created")
}
