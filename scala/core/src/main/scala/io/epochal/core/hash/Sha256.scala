package io.epochal.core.hash

import java.nio.charset.StandardCharsets.UTF_8
import java.security.MessageDigest
import java.util.HexFormat

/** SHA-256 (FIPS 180-4), as lower-case hexadecimal digits. */
object Sha256 {

  /** The hash of bytes.
    *
    * @param bytes
    *   how many of the 32 bytes to return, from the first; each is two digits
    */
  def hex(content: Array[Byte], bytes: Int): String =
    HexFormat.of.formatHex(MessageDigest.getInstance("SHA-256").digest(content), 0, bytes)

  /** The hash of a text in UTF-8. */
  def hex(text: String, bytes: Int): String = hex(text.getBytes(UTF_8), bytes)
}
