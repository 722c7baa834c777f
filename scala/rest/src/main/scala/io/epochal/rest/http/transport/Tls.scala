package io.epochal.rest.http.transport

import java.security.SecureRandom
import javax.net.ssl.{SSLContext, TrustManagerFactory}

import io.epochal.core.error.Redaction
import io.epochal.kit.tls.{CertifiedKey, Pem}

/** Whom to trust, and who we are, as texts in PEM: they travel to the executors, which have no such files. Prints without them.
  *
  * @param authorities
  *   trusted in place of the JVM's
  */
final case class Tls(authorities: Option[String], client: Option[ClientCertificate]) {

  /** @throws io.epochal.kit.tls.PemException
    *   what is wrong with the texts
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

/** @param chain
  *   ours first
  * @param key
  *   PKCS#8
  * @param password
  *   of an encrypted key
  */
final case class ClientCertificate(chain: String, key: String, password: Option[String]) {
  override def toString: String = s"ClientCertificate(${Redaction.Mask})"
}
