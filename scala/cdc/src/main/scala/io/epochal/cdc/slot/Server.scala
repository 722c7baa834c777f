package io.epochal.cdc.slot

/** Facts of the server, and of the role.
  *
  * @param version
  *   as `server_version_num`: 150003
  * @param effectiveWalLevel
  *   what the server writes: from PostgreSQL 19 on, the first logical slot raises it to logical
  * @param systemId
  *   of the cluster's files: a dump that is restored elsewhere has another one
  * @param replicates
  *   whether the role may use slots: REPLICATION, a superuser, or a member of the provider's role for it
  * @param slots
  *   that exist, of those allowed
  * @param senders
  *   that run, of those allowed
  * @param keptWal
  *   `max_slot_wal_keep_size`; None: unlimited
  * @param end
  *   of its log
  * @param standbys
  *   slots of standbys for which readers of failover slots do not wait
  * @param seesStandbys
  *   whether the role sees how far standbys are behind; else it sees only that they are there
  */
final private[cdc] case class Server(
    version: Int,
    systemId: String,
    timeline: Long,
    end: Long,
    database: String,
    role: String,
    walLevel: String,
    effectiveWalLevel: String,
    isStandby: Boolean,
    replicates: Boolean,
    createsPublications: Boolean,
    slots: (Long, Long),
    senders: (Long, Long),
    keptWal: Option[String],
    standbys: Seq[String],
    seesStandbys: Boolean) {

  /** The major version: 15. */
  def major: Int = version / 10000

  /** Whether the first logical slot raises its WAL level. */
  def raisesWalLevel: Boolean =
    major >= 19 && walLevel == "replica" && effectiveWalLevel != "logical" && !isStandby

  /** Whether its standbys can have its slots. */
  def hasFailover: Boolean = major >= 17 && !isStandby

  /** The last argument of the function that creates a slot. */
  def failoverArgument: String = if (hasFailover) ", failover => true" else ""
}
