package io.epochal.kit.source.journal

import java.nio.file.Files

import org.scalatest.funsuite.AnyFunSuite

final class JournalTailSuite extends AnyFunSuite {

  test("no position covers rows without the place where their origin is read next") {
    val run = new FeedRun(new Feed, Files.createTempDirectory("feed"))
    val start = FeedPosition(0, None, 0)
    val tail = run.tail(start)
    def add(): Unit = tail.add(1, new Array[Byte](4), 0, 4)
    intercept[IllegalStateException](tail.receive {
      add()
      intercept[IllegalArgumentException](tail.take(1))
      throw new IllegalStateException("the origin is gone")
    })
    intercept[IllegalArgumentException](tail.take(1))
    tail.discard()
    val next = run.tail(start)
    next.receive {
      next.add(1, new Array[Byte](4), 0, 4)
      7
    }
    assert(next.take(1).next == 7)
    run.close()
  }
}
