package io.epochal.cdc.slot

/** Facts of a replication slot.
  *
  * @param confirmed
  *   the position that its reader has confirmed
  * @param status
  *   `wal_status`: `lost` if the server has removed what the slot needs
  * @param user
  *   process and age in seconds of its connection, if someone reads it; the age is None without `pg_read_all_stats`
  * @param retained
  *   bytes of the log that the server keeps for it; None: unknown
  * @param safe
  *   bytes that may still be written before the slot is lost, if that is limited
  * @param failover
  *   whether standbys have it too
  * @param isSynced
  *   whether the server was a standby, and has it from its primary
  * @param end
  *   of the log; None: unknown
  * @param loggedUntil
  *   all that was committed before is in the log up to its end, in microseconds since 1970; on a standby, the last commit that it has
  *   replayed; None: there is none
  * @param now
  *   the server's clock, in microseconds since 1970
  */
final private[cdc] case class SlotFacts(
    name: String,
    plugin: String,
    database: String,
    confirmed: Option[Long],
    status: String,
    user: Option[SlotUser],
    retained: Option[Long],
    safe: Option[Long],
    twoPhase: Boolean,
    failover: Boolean,
    isSynced: Boolean,
    invalidation: Option[String],
    end: Option[Long],
    loggedUntil: Option[Long],
    now: Long)

final private[cdc] case class SlotUser(process: Int, seconds: Option[Long])
