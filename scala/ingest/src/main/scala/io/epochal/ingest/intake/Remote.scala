package io.epochal.ingest.intake

import java.net.{InetSocketAddress, SocketAddress}

/** Where a client is. */
private[ingest] object Remote {

  /** Address and port, as in the column `remote`. */
  def shown(address: SocketAddress): String = address match {
    case inet: InetSocketAddress if inet.getAddress != null =>
      val host = inet.getAddress.getHostAddress
      if (host.contains(':')) s"[$host]:${inet.getPort}" else s"$host:${inet.getPort}"
    case other => String.valueOf(other)
  }
}
