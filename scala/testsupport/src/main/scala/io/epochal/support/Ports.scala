package io.epochal.support

import java.net.{InetAddress, ServerSocket}
import java.util.concurrent.ThreadLocalRandom

import scala.util.Using

object Ports {

  /** Below the ports that Linux gives to clients: none of another test takes one that is free. */
  private val First = 20000
  private val End = 32768

  /** A free local port. */
  def free(): Int = Iterator
    .continually(ThreadLocalRandom.current.nextInt(First, End))
    .find(port => Using(new ServerSocket(port, 1, InetAddress.getLoopbackAddress))(_ => ()).isSuccess)
    .get
}
