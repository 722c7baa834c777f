package io.epochal.support

import java.net.{InetAddress, ServerSocket}

import scala.util.Using

object Ports {

  /** A free local port. */
  def free(): Int = Using.resource(new ServerSocket(0, 1, InetAddress.getLoopbackAddress))(_.getLocalPort)
}
