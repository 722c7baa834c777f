package io.epochal.kit.store

import org.scalatest.funsuite.AnyFunSuite

final class LogTextSuite extends AnyFunSuite {

  test("only the sources' lines of an epoch's logged offsets count") {
    def hash(text: String): Option[String] = new LogText(text).offsetsHash
    assert(hash("v1\n{\"batchTimestampMs\":1}\n{\"a\":1}\n-").nonEmpty)
    assert(hash("v1\n{\"batchTimestampMs\":1}\n{\"a\":1}\n-") == hash("v1\n{\"batchTimestampMs\":2}\n{\"a\":1}\n-"))
    assert(hash("v1\n{}\n{\"a\":1}\n-") != hash("v1\n{}\n-\n{\"a\":1}"))
    assert(hash("v2\n{}\na:1\nb:2") == hash("v2\n{}\nb:2\na:1"))
    assert(hash("v3\n{}\n1").isEmpty && hash("").isEmpty && hash("v1").isEmpty)
  }
}
