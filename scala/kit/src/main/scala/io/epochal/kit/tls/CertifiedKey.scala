package io.epochal.kit.tls

import java.nio.charset.StandardCharsets.UTF_8
import java.security.cert.X509Certificate
import java.security.{KeyStore, PrivateKey, PublicKey, Signature}
import javax.net.ssl.KeyManagerFactory

import scala.util.Try

/** A private key with its certificate chain: the identity of one end of a TLS connection. */
private[epochal] object CertifiedKey {

  /** Parses key and chain.
    *
    * @param chain
    *   certificates in PEM, the key's own first
    * @param key
    *   PKCS#8 in PEM
    * @param password
    *   of an encrypted key
    * @throws PemException
    *   what is wrong with the texts
    */
  def fromPem(chain: String, key: String, password: Option[String]): KeyManagerFactory = {
    val certificates = Pem.certificates(chain)
    val privateKey = Pem.privateKey(key, password)
    if (!belong(privateKey, certificates.head)) throw new PemException("the key is not that of the first certificate")
    val store = emptyStore
    store.setKeyEntry("own", privateKey, Array.emptyCharArray, certificates.toArray)
    managers(store, Array.emptyCharArray)
  }

  /** Key managers of a key store.
    *
    * @param store
    *   whose keys share one password
    */
  def managers(store: KeyStore, password: Array[Char]): KeyManagerFactory = {
    val factory = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm)
    factory.init(store, password)
    factory
  }

  def emptyStore: KeyStore = {
    val store = KeyStore.getInstance("PKCS12")
    store.load(null, null)
    store
  }

  /** Whether the certificate verifies the key's signature. */
  private def belong(key: PrivateKey, certificate: X509Certificate): Boolean = {
    val algorithm = key.getAlgorithm match {
      case "RSA"               => "SHA256withRSA"
      case "EC"                => "SHA256withECDSA"
      case "EdDSA" | "Ed25519" => "EdDSA"
      case other               => s"SHA256with$other"
    }
    val text = "epochal".getBytes(UTF_8)
    def contents: Array[Byte] = {
      val signer = Signature.getInstance(algorithm)
      signer.initSign(key)
      signer.update(text)
      signer.sign()
    }
    def verified(by: PublicKey): Boolean = {
      val verifier = Signature.getInstance(algorithm)
      verifier.initVerify(by)
      verifier.update(text)
      verifier.verify(contents)
    }
    Try(verified(certificate.getPublicKey)).getOrElse(false)
  }
}
