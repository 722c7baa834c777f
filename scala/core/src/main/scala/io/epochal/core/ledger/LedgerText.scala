package io.epochal.core.ledger

import scala.util.Try

import com.fasterxml.jackson.databind.ObjectMapper
import com.fasterxml.jackson.databind.node.ObjectNode

import io.epochal.core.error.{Conditions, EpochalException}

/** Encodes a row of the ledger as one text, for ledgers with a single text column:
  *
  * {{{
  * {"v":1,"sink":"…","query":"…","run":"…","generation":2,"target":"t","targetId":7,
  *  "server":"…","timeline":1,
  *  "epoch":3,"trigger":"micro-batch","offsets":"…","rows":10,"digest":"…"}
  * }}}
  *
  * `targetId`, `timeline` and `offsets` are omitted if unknown, and the last line before the first epoch.
  */
object LedgerText {
  private val Version = 1
  private val mapper = new ObjectMapper

  def write(row: LedgerRow): String = {
    val fields = mapper.createObjectNode()
    fields.put("v", Version).put("sink", row.sinkId).put("query", row.queryId).put("run", row.runId)
    fields.put("generation", row.generation).put("target", row.target.name)
    row.target.oid.foreach(fields.put("targetId", _))
    fields.put("server", row.server.id)
    row.server.timeline.foreach(fields.put("timeline", _))
    row.last.foreach { last =>
      fields.put("epoch", last.epoch).put("trigger", last.trigger.name)
      last.offsetsHash.foreach(fields.put("offsets", _))
      fields.put("rows", last.digest.rows).put("digest", last.digest.hex)
    }
    mapper.writeValueAsString(fields)
  }

  /** Decodes a row.
    *
    * @param place
    *   of the ledger, for messages
    * @return
    *   Left: LEDGER_VERSION_UNSUPPORTED, LEDGER_DAMAGED
    */
  def read(text: String, place: String): Either[EpochalException, LedgerRow] =
    for {
      fields <- Try(mapper.readTree(text)).toOption
        .collect { case fields: ObjectNode if fields.path("v").isInt => fields }
        .toRight(damage(text, place, "it is no JSON object with a version \"v\""))
      found = fields.get("v").intValue
      _ <- Either.cond(
        found <= Version,
        (),
        Conditions.LedgerVersionUnsupported(
          "url" -> place,
          "sinkId" -> fields.path("sink").asText(),
          "found" -> found,
          "supported" -> Version))
      row <- Try(read(fields)).toEither.left.map(error => damage(text, place, String.valueOf(error.getMessage)))
    } yield row

  private def read(fields: ObjectNode): LedgerRow = {
    def number(name: String) = Option(fields.get(name)).filter(_.canConvertToLong).map(_.longValue)
    def text(name: String) = Option(fields.get(name)).filter(_.isTextual).map(_.textValue)
    def requiredField[A](name: String, value: String => Option[A]): A =
      value(name).getOrElse(throw new IllegalArgumentException(s"\"$name\" is missing"))
    val last = number("epoch").map(epoch =>
      AppliedEpoch(
        epoch,
        requiredField("trigger", text(_).flatMap(TriggerMode.parse)),
        text("offsets"),
        ContentDigest.parse(requiredField("rows", number), requiredField("digest", text))))
    LedgerRow(
      requiredField("sink", text),
      requiredField("query", text),
      Target(requiredField("target", text), number("targetId")),
      last,
      requiredField("generation", number),
      requiredField("run", text),
      ServerIdentity(requiredField("server", text), number("timeline")))
  }

  private def damage(text: String, place: String, reason: String): EpochalException =
    Conditions.LedgerDamaged("place" -> place, "text" -> text.take(300), "reason" -> reason)
}
