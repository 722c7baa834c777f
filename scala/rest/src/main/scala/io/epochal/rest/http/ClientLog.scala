package io.epochal.rest.http

import org.apache.hc.client5.http.impl.classic.CloseableHttpClient
import org.apache.logging.log4j.Level
import org.apache.logging.log4j.core.config.Configurator

/** The log of the HTTP client. At DEBUG it has request lines, headers and bodies, and so every secret: it is held at INFO,
  * whatever the level of all others.
  */
private[http] object ClientLog {

  /** Under the name that its loggers have, and that they have in a jar with the client's package moved. */
  def withoutTraffic(): Unit = {
    val moved = classOf[CloseableHttpClient].getPackageName.stripSuffix(".http.impl.classic")
    val plain = moved.substring(moved.indexOf("org.apache"))
    try Set(moved, plain).foreach(Configurator.setLevel(_, Level.INFO))
    catch { case _: LinkageError => () } // Logs by something else than Log4j.
  }
}
