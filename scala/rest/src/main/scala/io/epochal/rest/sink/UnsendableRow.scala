package io.epochal.rest.sink

/** A row that cannot be sent. */
final private[rest] class UnsendableRow(val reason: String) extends Exception(reason, null, false, false)
