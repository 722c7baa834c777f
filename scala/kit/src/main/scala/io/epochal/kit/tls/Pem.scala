package io.epochal.kit.tls

import java.io.ByteArrayInputStream
import java.security.cert.{CertificateException, CertificateFactory, X509Certificate}
import java.security.spec.{InvalidKeySpecException, PKCS8EncodedKeySpec}
import java.security.{GeneralSecurityException, KeyFactory, PrivateKey}
import java.util.Base64
import javax.crypto.spec.PBEKeySpec
import javax.crypto.{Cipher, EncryptedPrivateKeyInfo, SecretKeyFactory}

import scala.util.Try

/** Certificates and keys in PEM (RFC 7468). */
private[epochal] object Pem {

  private val Block = "-----BEGIN ([A-Z0-9 ]+)-----([^-]*)-----END \\1-----".r

  /** All certificates, in order; at least one. */
  def certificates(text: String): Seq[X509Certificate] = {
    val factory = CertificateFactory.getInstance("X.509")
    val certificates = blocks(text).collect { case ("CERTIFICATE", der) =>
      try factory.generateCertificate(new ByteArrayInputStream(der)).asInstanceOf[X509Certificate]
      catch {
        case e: CertificateException => throw new PemException(s"a certificate in it is damaged (${e.getMessage})")
      }
    }
    if (certificates.isEmpty) throw new PemException("it has no CERTIFICATE in PEM")
    certificates
  }

  /** The first private key, in PKCS#8. */
  def privateKey(text: String, password: Option[String]): PrivateKey =
    blocks(text)
      .collectFirst {
        case ("PRIVATE KEY", der)           => key(new PKCS8EncodedKeySpec(der))
        case ("ENCRYPTED PRIVATE KEY", der) => key(decrypt(der, password))
        case (older, _) if older.endsWith("PRIVATE KEY") =>
          throw new PemException(s"its $older is not in PKCS#8: convert it with openssl pkcs8 -topk8 -nodes")
      }
      .getOrElse(throw new PemException("it has no PRIVATE KEY in PEM"))

  private def key(spec: PKCS8EncodedKeySpec): PrivateKey =
    Seq("RSA", "EC", "EdDSA", "DSA").iterator
      .flatMap(algorithm => Try(KeyFactory.getInstance(algorithm).generatePrivate(spec)).toOption)
      .nextOption()
      .getOrElse(throw new PemException("its PRIVATE KEY is damaged, or of a kind that Java does not know"))

  private def decrypt(der: Array[Byte], password: Option[String]): PKCS8EncodedKeySpec = {
    val characters =
      password
        .getOrElse(throw new PemException("its PRIVATE KEY is encrypted: set {option:tls.keyPassword}"))
        .toCharArray
    try {
      val envelope = new EncryptedPrivateKeyInfo(der)
      // PBES2 names its algorithm only in the parameters.
      val algorithm =
        Option(envelope.getAlgParameters).map(_.toString).filter(_.startsWith("PBE")).getOrElse(envelope.getAlgName)
      val secret = SecretKeyFactory.getInstance(algorithm).generateSecret(new PBEKeySpec(characters))
      val cipher = Cipher.getInstance(algorithm)
      cipher.init(Cipher.DECRYPT_MODE, secret, envelope.getAlgParameters)
      envelope.getKeySpec(cipher)
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
