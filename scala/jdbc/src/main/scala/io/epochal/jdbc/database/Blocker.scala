package io.epochal.jdbc.database

/** A session that blocks another one.
  *
  * @param process
  *   its number for the server's kill command; None: it has no process (a prepared transaction)
  * @param description
  *   for people: its owner, the age of its transaction, its current statement
  * @param key
  *   what must still hold when it is ended
  * @param writer
  *   the run that it provably belongs to, if it may be ended: our role, our database, not waiting for a replica
  */
final case class Blocker(process: Option[Long], description: String, key: String, writer: Option[Writer])
