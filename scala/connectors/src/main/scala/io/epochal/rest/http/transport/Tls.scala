package io.epochal.rest.http.transport

import java.nio.charset.StandardCharsets.UTF_8
import java.security.cert.X509Certificate
import java.security.{KeyStore, PrivateKey, PublicKey, SecureRandom, Signature}
import javax.net.ssl.{KeyManagerFactory, SSLContext, TrustManagerFactory}

import scala.util.Try

import io.epochal.core.error.Redaction

/** Whom to trust, and who we are, as texts in PEM: they travel to the executors, which have no such files. Prints without them.
  *
  * @param authorities
  *   trusted in place of the JVM's
  */
final case class Tls(authorities: Option[String], client: Option[ClientCertificate]) {

  /** @throws PemException
    *   what is wrong with the texts
    */
  def context(): SSLContext = {
    val context = SSLContext.getInstance("TLS")
    context.init(
      client.map(keyManagers(_).getKeyManagers).orNull,
      authorities.map(trustManagers(_).getTrustManagers).orNull,
      new SecureRandom)
    context
  }

  private def trustManagers(pem: String): TrustManagerFactory = {
    val store = Tls.emptyStore
    Pem.certificates(pem).zipWithIndex.foreach { case (ca, i) => store.setCertificateEntry(s"ca$i", ca) }
    val factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm)
    factory.init(store)
    factory
  }

  private def keyManagers(client: ClientCertificate): KeyManagerFactory = {
    val chain = Pem.certificates(client.chain)
    val key = Pem.privateKey(client.key, client.password)
    if (!Tls.belong(key, chain.head)) throw new PemException("the key is not that of the first certificate")
    val store = Tls.emptyStore
    store.setKeyEntry("client", key, Array.emptyCharArray, chain.toArray)
    val factory = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm)
    factory.init(store, Array.emptyCharArray)
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

private object Tls {

  private def emptyStore: KeyStore = {
    val store = KeyStore.getInstance("PKCS12")
    store.load(null, null)
    store
  }

  /** Whether what one signs the other verifies. */
  private def belong(key: PrivateKey, certificate: X509Certificate): Boolean = {
    val algorithm = key.getAlgorithm match {
      case "RSA"               => "SHA256withRSA"
      case "EC"                => "SHA256withECDSA"
      case "EdDSA" | "Ed25519" => "EdDSA"
      case other               => s"SHA256with$other"
    }
    val text = "epochal".getBytes(UTF_8)
    def signed: Array[Byte] = {
      val signer = Signature.getInstance(algorithm)
      signer.initSign(key)
      signer.update(text)
      signer.sign()
    }
    def verified(by: PublicKey): Boolean = {
      val verifier = Signature.getInstance(algorithm)
      verifier.initVerify(by)
      verifier.update(text)
      verifier.verify(signed)
    }
    Try(verified(certificate.getPublicKey)).getOrElse(false)
  }
}
