package io.epochal.rest.http.transport

import java.io.FileInputStream
import java.nio.file.{Files, Path, Paths}
import java.security.{KeyStore, PrivateKey}
import java.util.{Base64, HexFormat}
import javax.crypto.spec.PBEKeySpec
import javax.crypto.{Cipher, SecretKeyFactory}

import scala.sys.process.Process
import scala.util.Using

/** A key with a self-signed certificate from the JDK's keytool: as a key store for a server, and in PEM for a client.
  *
  * @param kind
  *   keytool's arguments for the key
  */
final class TestCertificates(name: String, kind: String = "-keyalg EC") {
  import TestCertificates._

  private val directory = Files.createTempDirectory("certificates")
  val store: Path = directory.resolve(s"$name.p12")
  keytool(
    s"-genkeypair -alias $name $kind -dname CN=$name -ext san=ip:127.0.0.1 -validity 2 -keystore $store -storetype PKCS12 -storepass $Password")

  private val loaded = KeyStore.getInstance("PKCS12")
  Using.resource(new FileInputStream(store.toFile))(loaded.load(_, Password.toCharArray))
  private val key = loaded.getKey(name, Password.toCharArray).asInstanceOf[PrivateKey]

  val certificate: String = pem("CERTIFICATE", loaded.getCertificate(name).getEncoded)
  val privateKey: String = pem("PRIVATE KEY", key.getEncoded)

  /** The key encrypted by PBES2 with AES-256, as openssl writes it. */
  def encryptedKey(password: String): String = {
    val algorithm = "PBEWithHmacSHA256AndAES_256"
    val cipher = Cipher.getInstance(algorithm)
    cipher.init(
      Cipher.ENCRYPT_MODE,
      SecretKeyFactory.getInstance(algorithm).generateSecret(new PBEKeySpec(password.toCharArray)))
    val parameters = cipher.getParameters.getEncoded
    val encrypted = der(0x30, der(0x30, Pbes2 ++ parameters) ++ der(0x04, cipher.doFinal(key.getEncoded)))
    pem("ENCRYPTED PRIVATE KEY", encrypted)
  }

  /** Creates a file with these texts. */
  def file(texts: String*): String =
    Files.writeString(Files.createTempFile(directory, "text", ".pem"), texts.mkString("\n")).toString
}

object TestCertificates {
  val Password = "changeit"

  def pem(label: String, der: Array[Byte]): String =
    s"-----BEGIN $label-----\n${Base64.getMimeEncoder(64, Array('\n'.toByte)).encodeToString(der)}\n-----END $label-----\n"

  /** Object identifier 1.2.840.113549.1.5.13. */
  private val Pbes2 = HexFormat.of.parseHex("06092a864886f70d01050d")

  private def der(tag: Int, content: Array[Byte]): Array[Byte] = {
    val n = content.length
    val length = if (n < 128) Seq(n) else if (n < 256) Seq(0x81, n) else Seq(0x82, n >> 8, n)
    (tag +: length).map(_.toByte).toArray ++ content
  }

  private def keytool(arguments: String): Unit = {
    val program = Paths.get(System.getProperty("java.home"), "bin", "keytool").toString
    val brief = Seq("-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC")
    val _ = Process(program +: (brief ++ arguments.split(' '))).!!
  }
}
