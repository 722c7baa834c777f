package io.epochal.kit.spark

/** A value that its type cannot represent exactly. */
final private[spark] class InexactValueException extends RuntimeException(null, null, false, false)
