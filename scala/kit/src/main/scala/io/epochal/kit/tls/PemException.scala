package io.epochal.kit.tls

/** Describes what is wrong with a PEM text, without quoting it. */
final private[epochal] class PemException(reason: String) extends Exception(reason)
