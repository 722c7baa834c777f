package io.epochal.core.version

import java.nio.charset.StandardCharsets.UTF_8

import scala.util.Using

object Version {

  /** The release, as in the jar's name. */
  val text: String =
    Using.resource(getClass.getResourceAsStream("/io/epochal/version.txt"))(in =>
      new String(in.readAllBytes(), UTF_8).trim)
}
