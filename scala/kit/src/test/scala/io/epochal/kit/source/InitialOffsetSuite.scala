package io.epochal.kit.source

import java.nio.file.{Files, Path}

import org.apache.hadoop.conf.Configuration
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.core.error.{Conditions, EpochalException}

final class InitialOffsetSuite extends AnyFunSuite {

  /** Zeroed contents that a power failure may leave of a file that was not synced, with and without Hadoop's checksums. */
  private val remains = for {
    length <- Seq(0, 9, 4096)
    sums <- Seq(None, Some(0), Some(12))
  } yield (length, sums)

  private def stored(body: (Path, InitialOffset) => Unit): Unit = remains.foreach { case (length, sums) =>
    val directory = Files.createTempDirectory("initial").resolve("0")
    val initial = new InitialOffset(directory.toString, new Configuration())
    assert(initial.orElse("{\"n\":1}") == "{\"n\":1}" && initial.orElse(fail("it is stored")) == "{\"n\":1}")
    Files.write(directory.resolve("initial-offset"), new Array[Byte](length)): Unit
    val checksums = directory.resolve(".initial-offset.crc")
    Files.delete(checksums)
    sums.foreach(size => Files.write(checksums, new Array[Byte](size)))
    body(directory, initial)
  }

  test("a file of zeros is an error, if its value cannot be determined again") {
    stored { (_, initial) =>
      val error = intercept[EpochalException](initial.orElse("{\"n\":2}"))
      assert(error.condition == Conditions.OffsetInvalid)
    }
  }

  test("a file of zeros is written again, if its value is constant") {
    stored { (directory, initial) =>
      assert(initial.orElse("{\"n\":1}", constant = true) == "{\"n\":1}")
      assert(initial.orElse(fail("it is stored")) == "{\"n\":1}")
      assert(!directory.toFile.list().exists(_.startsWith(".initial-offset.0")))
    }
  }
}
