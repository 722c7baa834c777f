package io.epochal.core.ledger

import java.util.HexFormat

/** How the engine delivers epochs. */
sealed abstract class TriggerMode(val name: String)

object TriggerMode {
  case object MicroBatch extends TriggerMode("micro-batch")
  case object Continuous extends TriggerMode("continuous")
  case object RealTime extends TriggerMode("real-time")

  val all: Seq[TriggerMode] = Seq(MicroBatch, Continuous, RealTime)

  def parse(name: String): Option[TriggerMode] = all.find(_.name == name)
}

/** The table that a sink writes.
  *
  * @param name
  *   as the database spells it, with its schema
  * @param oid
  *   the database's number for it, if there is one: it differs after a table was dropped and recreated
  */
final case class Target(name: String, oid: Option[Long]) {

  /** Distinguishes it from a table that was recreated under its name, where the database can. */
  def id: String = oid.fold(name)(_.toString)

  /** Whether it is the other's table, renamed or not, or a recreated table of the same name. */
  def isTableOf(other: Target): Boolean = name == other.name || oid.exists(other.oid.contains(_))

  override def toString: String = oid.fold(name)(o => s"$name (oid $o)")
}

/** Identifies the database server, to detect a moved ledger: PostgreSQL's system identifier and timeline. */
final case class ServerIdentity(id: String, timeline: Option[Long])

/** The last applied epoch.
  *
  * @param offsetsHash
  *   hash of the source offsets that Spark logged for it; None if they could not be read
  */
final case class AppliedEpoch(epoch: Long, trigger: TriggerMode, offsetsHash: Option[String], digest: ContentDigest)

/** A sink's row in the ledger. It commits in the same transaction as the rows of the epoch.
  *
  * @param last
  *   None until the first epoch is applied
  * @param generation
  *   increases with every run that claims the sink; only the newest may write
  * @param runId
  *   Spark's run id of that run
  */
final case class LedgerRow(
    sinkId: String,
    queryId: String,
    target: Target,
    last: Option[AppliedEpoch],
    generation: Long,
    runId: String,
    server: ServerIdentity
)

/** The content of an epoch, independent of order and partitions: the number of rows and the sum of their 64-bit hashes.
  *
  * A replay with other partitions gives the same digest. Unlike with an exclusive or, a duplicated row does not cancel out.
  */
final case class ContentDigest(rows: Long, sum: Long) {

  def +(other: ContentDigest): ContentDigest = ContentDigest(rows + other.rows, sum + other.sum)

  /** 16 hexadecimal digits. */
  def hex: String = HexFormat.of.toHexDigits(sum)
}

object ContentDigest {
  val empty: ContentDigest = ContentDigest(0L, 0L)

  def parse(rows: Long, hex: String): ContentDigest = ContentDigest(rows, java.lang.Long.parseUnsignedLong(hex, 16))
}
