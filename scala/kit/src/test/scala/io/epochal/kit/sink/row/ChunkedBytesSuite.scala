package io.epochal.kit.sink.row

import java.util.Arrays

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.epochal.kit.spark.memory.Memory
import io.epochal.support.Examples

final class ChunkedBytesSuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  private def put(out: ChunkedBytes, piece: Array[Byte]): Unit = {
    out.reserve(piece.length)
    out.putBytes(piece, Memory.ARRAY_START, piece.length)
  }

  private def whole(out: ChunkedBytes): Array[Byte] = {
    val (chunks, lengths) = out.result()
    chunks.zip(lengths).flatMap { case (chunk, length) => chunk.take(length) }
  }

  /** Rows in several writes, many longer than the rest of a chunk, and whether they are reset. */
  private val rows: Gen[List[(List[Array[Byte]], Boolean)]] = {
    val piece = for {
      length <- Gen.frequency(5 -> Gen.choose(0, 50), 2 -> Gen.choose(3000, 20000), 1 -> Gen.const(100000))
      byte <- Gen.choose[Byte](-128, 127)
    } yield Array.fill(length)(byte)
    Gen.listOf(Gen.zip(Gen.listOf(piece), Gen.oneOf(true, false)))
  }

  test("a row that is reset leaves no byte, whichever chunks it had filled") {
    forAll(rows, minSuccessful(Examples.of(60)), sizeRange(20)) { rows =>
      val out = new ChunkedBytes(Long.MaxValue, () => fail())
      rows.foreach { case (pieces, bad) =>
        out.mark()
        pieces.foreach(put(out, _))
        if (bad) out.reset()
      }
      val good = Array.concat(rows.collect { case (pieces, false) => pieces }.flatten: _*)
      assert(out.size == good.length)
      assert(Arrays.equals(whole(out), good))
    }
  }

  test("exceeding the limit calls onLimit, while growing or at the end") {
    def limited(bytes: Int): Unit = {
      val out = new ChunkedBytes(1000, () => throw new IllegalStateException("too much"))
      put(out, new Array[Byte](bytes))
      out.result(): Unit
    }
    limited(1000)
    intercept[IllegalStateException](limited(1001))
    intercept[IllegalStateException](limited(100000))
  }
}
