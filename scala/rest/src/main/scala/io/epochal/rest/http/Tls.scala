package io.epochal.rest.http

import java.security.SecureRandom
import javax.net.ssl.{SSLContext, TrustManagerFactory}

import io.epochal.core.error.Redaction
import io.epochal.kit.tls.{CertifiedKey, Pem, PemCertificate}

/** Trusted authorities and the client certificate as PEM texts: executors do not have the files. Prints without them.
  *
  * @param authorities
  *   replace the JVM's
  */
final case class Tls(authorities: Option[String], client: Option[PemCertificate]) {

  /** @throws io.epochal.kit.tls.PemException
    *   if a text is invalid
    */
  def context(): SSLContext = {
    val context = SSLContext.getInstance("TLS")
    context.init(
      client.map(c => CertifiedKey.fromPem(c.chain, c.key, c.password).getKeyManagers).orNull,
      authorities.map(trustManagers(_).getTrustManagers).orNull,
      new SecureRandom)
    context
  }

  private def trustManagers(pem: String): TrustManagerFactory = {
    val store = CertifiedKey.emptyStore
    Pem.certificates(pem).zipWithIndex.foreach { case (ca, i) => store.setCertificateEntry(s"ca$i", ca) }
    val factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm)
    factory.init(store)
    factory
  }

  override def toString: String = s"Tls(${Redaction.Mask})"
}
