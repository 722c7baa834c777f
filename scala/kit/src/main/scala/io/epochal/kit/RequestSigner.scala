package io.epochal.kit

import java.net.URI
import java.util.{Map => JavaMap}

import io.epochal.core.annotation.Stable

/** Signs requests, where an API has a scheme of its own. Named by the option `signerClass`; to be found on the class path of
  * driver and executors, with a public constructor that takes nothing.
  *
  * There is an object for each stream on the driver, and for each task. Its threads may sign at the same time.
  */
@Stable
trait RequestSigner {

  /** Called once, before anything is signed; on the driver also when the DataFrame is built.
    *
    * @param settings
    *   the options `signer.*`, without that prefix; secret
    * @throws IllegalArgumentException
    *   what is wrong with them; its message is shown, and must not repeat them
    */
  def configure(settings: JavaMap[String, String]): Unit

  /** Called just before a request is sent, and anew for each try: a signature may hold the time.
    *
    * @return
    *   headers to add; they replace those of the same name
    */
  def sign(request: UnsignedRequest): JavaMap[String, String]
}

/** A request as it will be sent, but for its signature.
  *
  * @param uri
  *   with the query, encoded
  * @param headers
  *   ours and the user's; the connection's own (Host, Content-Length) come later
  * @param body
  *   empty where there is none; not to be changed
  */
@Stable
final class UnsignedRequest(
    val method: String,
    val uri: URI,
    val headers: JavaMap[String, String],
    val body: Array[Byte])
