package io.epochal.core.ledger

/** Identifies the database server, to detect a moved ledger: PostgreSQL's system identifier and timeline. */
final case class ServerIdentity(id: String, timeline: Option[Long])
