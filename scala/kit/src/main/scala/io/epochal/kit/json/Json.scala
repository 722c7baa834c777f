package io.epochal.kit.json

import com.fasterxml.jackson.core._
import com.fasterxml.jackson.core.json.JsonReadFeature

/** The JSON factories: they remember the field names that they have met. */
private[epochal] object Json {

  // The size of a response is limited where it is received; the source in locations is what JacksonParser reads strings by.
  val factory: JsonFactory = limited(identity)

  /** For what becomes a tree: it takes many times the memory of its text. */
  val trees: JsonFactory = limited(_.maxTokenCount(MaxTokens))

  private def limited(more: StreamReadConstraints.Builder => StreamReadConstraints.Builder): JsonFactory =
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

  // Jackson's own of today: a server must not get more when those change.
  final private val MaxNameLength = 50000
  final private val MaxDigits = 1000
  final private val MaxDepth = 1000
  final private val MaxTokens = 2000000L

  /** What a value is. */
  def describe(token: JsonToken): String = token match {
    case JsonToken.START_OBJECT                       => "an object"
    case JsonToken.START_ARRAY                        => "an array"
    case JsonToken.VALUE_STRING                       => "a string"
    case JsonToken.VALUE_NULL                         => "null"
    case JsonToken.VALUE_TRUE | JsonToken.VALUE_FALSE => "a boolean"
    case _                                            => "a number"
  }

  /** Whether a text ends within a value. Jackson says so by exceptions of two classes. */
  def endsEarly(error: JsonProcessingException): Boolean =
    String.valueOf(error.getOriginalMessage).startsWith("Unexpected end-of-input")

  /** What is wrong, without the text around it. */
  def problem(error: JsonProcessingException): String =
    error.getOriginalMessage + Option(error.getLocation).fold("")(place => s", at byte ${place.getByteOffset}")
}
