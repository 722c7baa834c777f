package io.epochal.cdc.value

/** Types whose texts only the server makes. */
private object PrintedReader extends PrintedReader

private class PrintedReader extends AsPrinted {
  override def hasBinary: Boolean = false
  override def binary(bytes: Array[Byte], offset: Int, length: Int): Any =
    throw new IllegalStateException("a binary value of a type that is read as text")
}
