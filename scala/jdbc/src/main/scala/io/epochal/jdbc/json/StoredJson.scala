package io.epochal.jdbc.json

import java.nio.charset.StandardCharsets.UTF_8

import scala.util.Using

import com.fasterxml.jackson.core.JsonToken._
import com.fasterxml.jackson.core.io.JsonEOFException
import com.fasterxml.jackson.core.{io => _, _}
import org.apache.spark.unsafe.types.UTF8String

import io.epochal.jdbc.row.{NulCharacter, TextReference, Texts}
import io.epochal.kit.json.JsonScan
import io.epochal.kit.spark.memory.Memory

/** Validates JSON texts and normalizes them for storage. One instance per task; a plain text is scanned in place, any other is
  * parsed.
  *
  * The grammar is RFC 8259. In addition it refuses what PostgreSQL's jsonb refuses, so that the server never has to:
  * escaped NUL characters (handled by `nulCharacter`; in a name always an error, since two names could become equal), lone
  * surrogates, numbers beyond numeric's range, texts beyond 256 MB. It also refuses more than 1,000 levels: the server's own
  * limit depends on its stack size.
  */
final private[jdbc] class StoredJson(nul: NulCharacter) extends TextReference {
  import StoredJson._

  private val utf8 = UTF_8.newEncoder

  /** Why the text cannot be stored; null if it can. */
  def take(base: AnyRef, address: Long, length: Int): String = {
    if (base.isInstanceOf[Array[Byte]]) point(base, address, length)
    else {
      val bytes = new Array[Byte](length)
      Memory.copy(base, address, bytes, Memory.ARRAY_START, length.toLong)
      point(bytes, Memory.ARRAY_START, length)
    }
    if (length > MaxBytes) s"as JSON it is longer than $MaxBytes bytes"
    else if (isPlain) null
    else {
      val problem = Texts.encoding(this.base, this.address, this.length)
      if (problem != null) problem else parse(UTF8String.fromAddress(this.base, this.address, this.length).toString)
    }
  }

  /** Whether the scan decides that the text is JSON; its numbers then have few digits, and no character is NUL. */
  private def isPlain: Boolean = {
    val from = (address - Memory.ARRAY_START).toInt
    val scan = new JsonScan(base.asInstanceOf[Array[Byte]], from, from + length)
    scan.value() && {
      scan.next(): Unit
      scan.at == scan.until
    }
  }

  private def parse(text: String): String =
    try
      Using.resource(factory.createParser(text)) { json =>
        var problem: String = null
        var isComplete = false
        while (problem == null && json.nextToken() != null) {
          problem = if (isComplete) notJson("something follows its end") else check(json)
          isComplete = json.getParsingContext.inRoot
        }
        if (problem == null) pointTo(text.replaceAll(EscapedNul, "$1" + nul("\u0000")))
        if (problem == null && !isComplete) notJson("it ends too early") else problem
      }
    catch { // Its message quotes the text, which is not for logs.
      case _: JsonEOFException            => notJson("it ends too early")
      case error: JsonProcessingException => notJson(s"character ${error.getLocation.getCharOffset + 1} is unexpected")
    }

  private def check(json: JsonParser): String = json.currentToken match {
    case START_OBJECT | START_ARRAY if json.getParsingContext.getNestingDepth > MaxDepth =>
      s"as JSON it is nested deeper than $MaxDepth levels"
    case FIELD_NAME if json.getText.indexOf(0) >= 0 => "it has the NUL character (\\u0000) in a name of its JSON"
    case VALUE_STRING if nul == NulCharacter.Error && json.getText.indexOf(0) >= 0 =>
      "it has the NUL character (\\u0000) in its JSON; set {option:nulCharacter} to strip or replace it"
    case FIELD_NAME | VALUE_STRING if !utf8.canEncode(json.getText) => notJson("half a surrogate pair stands alone")
    case VALUE_NUMBER_INT | VALUE_NUMBER_FLOAT if !isNumeric(json.getText) =>
      "its JSON has a number beyond the range of numeric"
    case _ => null
  }

  private def notJson(reason: String): String = s"it is not JSON: $reason"
}

private object StoredJson {
  private val MaxBytes = 0x0fffffff
  private val MaxDepth = 1000

  private val factory = new JsonFactoryBuilder()
    .disable(JsonFactory.Feature.CANONICALIZE_FIELD_NAMES)
    .streamReadConstraints(
      StreamReadConstraints
        .builder()
        .maxStringLength(Int.MaxValue)
        .maxNameLength(Int.MaxValue)
        .maxNumberLength(Int.MaxValue)
        .maxNestingDepth(Int.MaxValue)
        .build())
    .build()

  /** An escaped NUL after any number of escaped backslashes. */
  private val EscapedNul = """(?<!\\)((?:\\\\)*)\\u0000"""

  private val Number = """-?(\d+)(?:\.(\d+))?(?:[eE](.+))?""".r

  /** Whether a numeric has room for the number's digits: 131072 before the decimal point, 16383 after it. */
  private def isNumeric(number: String): Boolean = (number: @unchecked) match {
    case Number(whole, fraction, power) =>
      val digits = Option(fraction).getOrElse("")
      val exponent = Option(power).fold(0)(_.toIntOption.filter(_.abs < 1000000000).getOrElse(Int.MaxValue)).toLong
      val isZero = exponent < Int.MaxValue && whole.forall(_ == '0') && digits.forall(_ == '0')
      (isZero || whole.length + exponent <= 131072) && digits.length - exponent <= 16383
  }
}
