package io.epochal.core.option

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

final class NameListSuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  private val odd: Gen[String] = Gen.nonEmptyListOf(Gen.oneOf("a\"',:. é\n日;--".toSeq)).map(_.mkString)
  private def quoted(name: String): String = "\"" + name.replace("\"", "\"\"") + "\""

  test("names are separated by commas; blanks around them and empty ones are ignored") {
    assert(NameList.names(" a, b c ,,d:e ").contains(Seq("a", "b c", "d:e")))
    assert(NameList.names(" , ").isEmpty && NameList.names("").isEmpty)
  }

  test("any name can be written in quotes") {
    forAll(Gen.nonEmptyListOf(odd))(names => assert(NameList.names(names.map(quoted).mkString(" , ")).contains(names)))
    forAll(Gen.nonEmptyListOf(Gen.zip(odd, odd))) { pairs =>
      val text = pairs.map { case (from, to) => s"${quoted(from)} : ${quoted(to)}" }.mkString(",")
      assert(NameList.pairs(text).contains(pairs))
    }
  }

  test("a pair has two names") {
    assert(NameList.pairs("id:comment_id, body : text").contains(Seq("id" -> "comment_id", "body" -> "text")))
    Seq("", "a", "a:", ":a", "a:b:c", "a:b,c").foreach(text => assert(NameList.pairs(text).isEmpty, text))
  }
}
