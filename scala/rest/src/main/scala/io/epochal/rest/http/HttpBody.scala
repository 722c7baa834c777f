package io.epochal.rest.http

/** @param contentType
  *   as in the header Content-Type
  */
final class HttpBody(val contentType: String, val bytes: Array[Byte])
