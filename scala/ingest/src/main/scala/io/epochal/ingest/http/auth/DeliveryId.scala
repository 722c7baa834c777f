package io.epochal.ingest.http.auth

import java.nio.charset.StandardCharsets.UTF_8
import java.util.Arrays

import io.epochal.kit.json.JsonScan

/** How a sender of webhooks names what it delivers: a delivery that it repeats has the same name, so the name is an
  * idempotency key.
  */
sealed private[ingest] trait DeliveryId {

  /** @param header
    *   the value of a header
    * @param bytes
    *   of the one record of the request; None where it has several
    */
  def of(header: String => Option[String], bytes: Option[Array[Byte]]): Option[String]
}

private[ingest] object DeliveryId {

  /** The sender has no such name. */
  case object Unnamed extends DeliveryId {
    override def of(header: String => Option[String], bytes: Option[Array[Byte]]): Option[String] = None
  }

  /** It stands in a header. */
  final case class Header(name: String) extends DeliveryId {
    override def of(header: String => Option[String], bytes: Option[Array[Byte]]): Option[String] = header(name)
  }

  /** It stands in a field of the record, which is a JSON object. */
  final case class Field(name: String) extends DeliveryId {
    private val expected = name.getBytes(UTF_8)

    override def of(header: String => Option[String], bytes: Option[Array[Byte]]): Option[String] =
      bytes.flatMap(record => text(new JsonScan(record, 0, record.length)))

    /** None where it is not there, or is no plain string. */
    private def text(scan: JsonScan): Option[String] = {
      var sure = scan.next() == '{' && scan.pass() == '"'
      var found = Option.empty[String]
      while (sure && found.isEmpty) {
        val from = scan.at + 1
        sure = scan.string() && !scan.escaped
        val isIt = sure && Arrays.equals(scan.bytes, from, scan.at - 1, expected, 0, expected.length)
        sure &&= scan.next() == ':'
        if (sure) {
          val begin = if (scan.pass() == '"') scan.at + 1 else -1
          sure = scan.value()
          if (sure && isIt && begin >= 0) found = Some(new String(scan.bytes, begin, scan.at - 1 - begin, UTF_8))
          sure &&= !isIt && scan.next() == ',' && scan.pass() == '"'
        }
      }
      found
    }
  }
}
