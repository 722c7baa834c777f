package io.epochal.rest.http

import io.epochal.core.error.Reference
import io.epochal.core.journal.FileStore
import io.epochal.kit.access.Secret

/** The settings of one scheme. Serialized to the executors with the secrets as read on the driver; prints without them.
  */
private[epochal] trait AuthSettings extends Serializable {

  /** The option that selected the scheme, as the user wrote it. */
  def option: String

  final def reference: String = Reference.option(option)

  /** Values that are masked in all texts. */
  def secrets: Seq[Secret]

  /** Whether it sets the Authorization header, which a request has only once. */
  def isAuthorization: Boolean = false

  /** Name of the query parameter that it adds, which is excluded from the source's identity. */
  def parameter: Option[String] = None

  /** Called when a stream starts: what the server replaces is kept in this directory of its checkpoint. */
  def keep(store: => FileStore): Unit = ()

  /** For the requests of a client with these settings. */
  def open(http: HttpSettings, counters: HttpCounters): Credential
}
