package io.epochal.kit.json

import com.fasterxml.jackson.core._
import com.fasterxml.jackson.core.json.JsonReadFeature

/** The JSON factories, which cache field names. */
private[epochal] object Json {

  // The size of a response is limited where it is received; JacksonParser reads strings through the source in locations.
  val factory: JsonFactory = limitedFactory(identity)

  /** For values that become trees, which take many times the memory of their text. */
  val trees: JsonFactory = limitedFactory(_.maxTokenCount(MaxTokens))

  private def limitedFactory(more: StreamReadConstraints.Builder => StreamReadConstraints.Builder): JsonFactory =
    new JsonFactoryBuilder()
      .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
      .enable(StreamReadFeature.INCLUDE_SOURCE_IN_LOCATION)
      .enable(JsonReadFeature.ALLOW_NON_NUMERIC_NUMBERS)
      .streamReadConstraints(
        more(
          StreamReadConstraints
            .builder()
            .maxStringLength(Int.MaxValue)
            .maxNameLength(MaxNameLength)
            .maxNumberLength(MaxDigits)
            .maxNestingDepth(MaxDepth)).build())
      .build()

  // Jackson's current defaults: a server must not be allowed more when those change.
  final private val MaxNameLength = 50000
  final private val MaxDigits = 1000
  final private val MaxDepth = 1000
  final private val MaxTokens = 2000000L

  /** Names the kind of a value. */
  def describe(token: JsonToken): String = token match {
    case JsonToken.START_OBJECT                       => "an object"
    case JsonToken.START_ARRAY                        => "an array"
    case JsonToken.VALUE_STRING                       => "a string"
    case JsonToken.VALUE_NULL                         => "null"
    case JsonToken.VALUE_TRUE | JsonToken.VALUE_FALSE => "a boolean"
    case _                                            => "a number"
  }

  /** Whether a text ends within a value. Jackson reports that with exceptions of two classes. */
  def endsEarly(error: JsonProcessingException): Boolean =
    String.valueOf(error.getOriginalMessage).startsWith("Unexpected end-of-input")

  /** The problem, without the surrounding text. */
  def problem(error: JsonProcessingException): String =
    error.getOriginalMessage + Option(error.getLocation).fold("")(place => s", at byte ${place.getByteOffset}")
}
