package io.epochal.rest.http

import java.io.IOException

/** A response exceeds a limit that no sound server reaches. A retry would not help.
  *
  * @param reason
  *   the limit and what exceeds it
  */
final private[http] class ResponseLimitException(val reason: String) extends IOException(reason)
