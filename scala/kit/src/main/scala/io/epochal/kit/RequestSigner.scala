package io.epochal.kit

import java.util.{Map => JavaMap}

import io.epochal.core.annotation.Stable

/** Signs requests for an API with a scheme of its own. The option `signerClass` names the implementation, which must be on the
  * class path of driver and executors and have a public constructor without parameters.
  *
  * The driver creates one object per stream, and one per task. Its threads may sign at the same time.
  */
@Stable
trait RequestSigner {

  /** Called once, before anything is signed; on the driver also when the DataFrame is built.
    *
    * @param settings
    *   the options `signer.*`, without that prefix; secret
    * @throws IllegalArgumentException
    *   what is wrong with them; its message is shown, and must not repeat their values
    */
  def configure(settings: JavaMap[String, String]): Unit

  /** Called just before a request is sent, and again for each retry: a signature may contain the time.
    *
    * @return
    *   headers to add; they replace headers of the same name
    */
  def sign(request: UnsignedRequest): JavaMap[String, String]
}
