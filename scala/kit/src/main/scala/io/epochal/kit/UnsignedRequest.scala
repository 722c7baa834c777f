package io.epochal.kit

import java.net.URI
import java.util.{Map => JavaMap}

import io.epochal.core.annotation.Stable

/** A request before it is signed, otherwise as it will be sent.
  *
  * @param uri
  *   with the query, encoded
  * @param headers
  *   Epochal's and the user's; the connection's own (Host, Content-Length) are added later
  * @param body
  *   empty if there is none; must not be modified
  */
@Stable
final class UnsignedRequest(
    val method: String,
    val uri: URI,
    val headers: JavaMap[String, String],
    val body: Array[Byte])
