package io.epochal.testkit.report

/** Thrown if a promise is exempt or cannot be checked in this environment. */
final class NotChecked(reason: String) extends RuntimeException(reason)
