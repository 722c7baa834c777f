package io.epochal.kit.tls

import java.io.ByteArrayInputStream
import java.nio.charset.StandardCharsets.UTF_8
import java.security.cert.{CertificateException, CertificateFactory, X509Certificate}
import java.security.spec.{InvalidKeySpecException, PKCS8EncodedKeySpec}
import java.security.{GeneralSecurityException, KeyFactory, KeyStore, PrivateKey, PublicKey, Signature}
import java.util.Base64
import javax.crypto.spec.PBEKeySpec
import javax.crypto.{Cipher, EncryptedPrivateKeyInfo, SecretKeyFactory}
import javax.net.ssl.KeyManagerFactory

import scala.util.Try

/** Describes what is wrong with a PEM text, without quoting it. */
final private[epochal] class PemException(reason: String) extends Exception(reason)

/** Certificates and keys in PEM (RFC 7468). */
private[epochal] object Pem {

  private val Block = "-----BEGIN ([A-Z0-9 ]+)-----([^-]*)-----END \\1-----".r

  /** All certificates, in order; at least one. */
  def certificates(text: String): Seq[X509Certificate] = {
    val factory = CertificateFactory.getInstance("X.509")
    val found = blocks(text).collect { case ("CERTIFICATE", der) =>
      try factory.generateCertificate(new ByteArrayInputStream(der)).asInstanceOf[X509Certificate]
      catch {
        case e: CertificateException => throw new PemException(s"a certificate in it is damaged (${e.getMessage})")
      }
    }
    if (found.isEmpty) throw new PemException("it has no CERTIFICATE in PEM")
    found
  }

  /** The first private key, in PKCS#8. */
  def privateKey(text: String, password: Option[String]): PrivateKey =
    blocks(text)
      .collectFirst {
        case ("PRIVATE KEY", der)           => key(new PKCS8EncodedKeySpec(der))
        case ("ENCRYPTED PRIVATE KEY", der) => key(decrypted(der, password))
        case (older, _) if older.endsWith("PRIVATE KEY") =>
          throw new PemException(s"its $older is not in PKCS#8: convert it with openssl pkcs8 -topk8 -nodes")
      }
      .getOrElse(throw new PemException("it has no PRIVATE KEY in PEM"))

  private def key(spec: PKCS8EncodedKeySpec): PrivateKey =
    Seq("RSA", "EC", "EdDSA", "DSA").iterator
      .flatMap(algorithm => Try(KeyFactory.getInstance(algorithm).generatePrivate(spec)).toOption)
      .nextOption()
      .getOrElse(throw new PemException("its PRIVATE KEY is damaged, or of a kind that Java does not know"))

  private def decrypted(der: Array[Byte], password: Option[String]): PKCS8EncodedKeySpec = {
    val characters =
      password
        .getOrElse(throw new PemException("its PRIVATE KEY is encrypted: set {option:tls.keyPassword}"))
        .toCharArray
    try {
      val encrypted = new EncryptedPrivateKeyInfo(der)
      // PBES2 names its algorithm only in the parameters.
      val algorithm =
        Option(encrypted.getAlgParameters).map(_.toString).filter(_.startsWith("PBE")).getOrElse(encrypted.getAlgName)
      val secret = SecretKeyFactory.getInstance(algorithm).generateSecret(new PBEKeySpec(characters))
      val cipher = Cipher.getInstance(algorithm)
      cipher.init(Cipher.DECRYPT_MODE, secret, encrypted.getAlgParameters)
      encrypted.getKeySpec(cipher)
    } catch {
      case _: InvalidKeySpecException | _: java.security.InvalidKeyException =>
        throw new PemException("its PRIVATE KEY cannot be decrypted: is {option:tls.keyPassword} right?")
      case e: GeneralSecurityException =>
        throw new PemException(s"its PRIVATE KEY cannot be decrypted (${e.getMessage})")
    }
  }

  private def blocks(text: String): Seq[(String, Array[Byte])] =
    Block
      .findAllMatchIn(text)
      .map { block =>
        val der = Try(Base64.getMimeDecoder.decode(block.group(2).trim))
        block.group(1) -> der.getOrElse(throw new PemException(s"its ${block.group(1)} is not in Base64"))
      }
      .toVector
}

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
