package io.epochal.rest.sink

import java.nio.charset.StandardCharsets.UTF_8

import org.scalacheck.{Arbitrary, Gen}
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

final class Utf8BytesSuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  /** Texts with surrogates, alone and in pairs. */
  private val texts: Gen[String] =
    Gen.listOf(Gen.oneOf(Gen.asciiChar, Arbitrary.arbitrary[Char], Gen.choose('\ud800', '\udfff'))).map(_.mkString)

  test("bytes are UTF-8, independently of how the text is split") {
    forAll(texts, Gen.choose(1, 7)) { (text, piece) =>
      val out = new Utf8Bytes
      text.grouped(piece).foreach(part => out.write(part.toCharArray, 0, part.length))
      // An unpaired surrogate at the very end may still be completed.
      val whole = if (text.lastOption.exists(Character.isHighSurrogate)) text.dropRight(1) else text
      assert(out.text(0, out.length) == new String(whole.getBytes(UTF_8), UTF_8))
    }
  }

  test("truncated bytes are dropped, and the array is reused") {
    val out = new Utf8Bytes
    out.write("abc€")
    out.truncate(2)
    out.write("d")
    assert(out.text(0, out.length) == "abd")
  }
}
