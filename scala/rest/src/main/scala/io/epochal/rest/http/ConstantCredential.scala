package io.epochal.rest.http

/** Settings of a scheme whose credential is the same for every request. Secrets are read for each request, so a changed
  * secret takes effect at once.
  */
private[http] trait ConstantCredential extends AuthSettings with Credential {
  override def open(http: HttpSettings, counters: HttpCounters): Credential = this
}
