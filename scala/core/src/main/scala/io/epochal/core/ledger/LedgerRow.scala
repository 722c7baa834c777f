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
  *   the database's own number for it, where there is one: it differs when a table was dropped and made again
  */
final case class Target(name: String, oid: Option[Long]) {

  /** Distinguishes it from a table that was recreated under its name, where the database can. */
  def id: String = oid.fold(name)(_.toString)

  /** Whether it is the other's table: the same one under another name, or one made anew under the same name. */
  def isTableOf(other: Target): Boolean = name == other.name || oid.exists(other.oid.contains(_))

  /** Whether the rows of this one are not in the other: it is not the same table, renamed or not. */
  def isAnotherTable(other: Target): Boolean =
    if (oid.isDefined && other.oid.isDefined) oid != other.oid else name != other.name

  override def toString: String = oid.fold(name)(o => s"$name (oid $o)")
}

/** The database server, to see that a ledger moved: PostgreSQL's system identifier and timeline. */
final case class ServerIdentity(id: String, timeline: Option[Long])

/** The last epoch that was applied.
  *
  * @param offsetsHash
  *   hash of the source offsets that Spark logged for it; None where they could not be read
  */
final case class AppliedEpoch(epoch: Long, trigger: TriggerMode, offsetsHash: Option[String], digest: ContentDigest)

/** One sink's line in the ledger. It commits in the same transaction as the rows of the epoch.
  *
  * @param last
  *   None until the first epoch is applied
  * @param generation
  *   grows with every run that claims the sink; only the newest may write
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
  * Sums do not depend on the order, so a replay with other partitions gives the same digest; and unlike an exclusive or,
  * a row that comes twice does not vanish.
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
