package io.epochal.formats

import java.nio.file.Files
import java.util.regex.Matcher.quoteReplacement

import org.scalatest.funsuite.AnyFunSuite

import io.epochal.core.error.{Conditions, Reference}
import io.epochal.formats.Epochal

final class DocumentsSuite extends AnyFunSuite {

  Documents.all.foreach { case (path, text) =>
    test(s"${path.getFileName} matches the declarations in the code (if not, run `make docs`)") {
      assert(Files.readString(path) == text)
    }
  }

  private val Token = raw"\\([\\`*_\[])|`([^`]*)`|\*(\w+)\*(?:<!-- -->)?|&(lt|amp);| (\*) ".r

  /** The text that a reader of the Markdown sees, with placeholders in brackets. */
  private def rendered(markdown: String): String = {
    val rest = Token.replaceAllIn(markdown, "")
    assert("[`*\\\\]|<[A-Za-z/!?]|\\[[^\\]]*\\]\\(".r.findFirstIn(rest).isEmpty, markdown)
    Token.replaceAllIn(
      markdown,
      found =>
        quoteReplacement(found.subgroups.zipWithIndex.collect {
          case (name: String, 2)     => s"<$name>"
          case ("lt", 3)             => "<"
          case ("amp", 3)            => "&"
          case (star: String, 4)     => s" $star "
          case (text: String, 0 | 1) => text
        }.mkString)
    )
  }

  test("each text of an error is shown as it reads: no character of it becomes markup, and none is lost") {
    val texts = Conditions.all.flatMap(one => Seq(one.text.problem, one.text.hint) ++ one.text.batchHint)
    val odd =
      "pip install 'x>=4.0,<4.4': SELECT * FROM <a><b>, c* *d MAP<INT, INT> {option:params.*} [e](f) g_ `h` \\ &lt;"
    (texts :+ odd).foreach(text => assert(rendered(Documents.markdown(text)) == Reference.plain(text)))
    assert(Documents.markdown("'x>=4.0,<4.4' <a> {option:b=<c>}") == "'x>=4.0,<4.4' *a* `b=<c>`")
  }

  test("an option in the text of an error exists, and a format accepts the value that the text gives it") {
    val specs = Epochal.formats.flatMap(_.specs).groupBy(_.name)
    val texts = Conditions.all.flatMap(one => Seq(one.text.problem, one.text.hint) ++ one.text.batchHint)
    val named = texts.flatMap(raw"\{option:([\w.]+(?:\*)?)(?:=([^{}<>]+))?\}".r.findAllMatchIn(_))
    assert(named.length > 80)
    named.foreach { found =>
      val (name, value) = (found.group(1), Option(found.group(2)))
      assert(specs.contains(name), name)
      value.foreach(text => assert(specs(name).exists(_.kind.parse(text).nonEmpty), s"$name=$text"))
    }
  }

  test("the description of an option is shown as it reads: what is markup elsewhere is code") {
    Epochal.formats.flatMap(group => group.description +: group.specs.map(_.doc)).foreach { doc =>
      val shown = Documents.described(doc)
      assert(shown.replace("`", "") == doc)
      assert("`[^`]*`".r.split(shown).forall(part => Documents.markdown(part) == part), shown)
    }
  }

  test("every option has a description, and an example and a default of its type") {
    Epochal.formats.foreach { group =>
      group.specs.foreach { spec =>
        assert(spec.doc.endsWith("."), s"${group.format} ${spec.name}")
        assert(spec.sample.forall(spec.kind.parse(_).nonEmpty), s"${group.format} ${spec.name}")
        assert(spec.defaultText.forall(spec.kind.parse(_).nonEmpty), s"${group.format} ${spec.name}")
      }
    }
  }

  test("an option with a fixed set of values declares them, and so OPTIONS.md shows them") {
    for (group <- Epochal.formats; spec <- group.specs) {
      def accepts(text: String): Boolean = spec.kind.parse(text).nonEmpty
      val declared = spec.kind.allowed
      assert(declared.forall(accepts), s"${group.format} ${spec.name}")
      if (spec.kind.name == "string" || declared.nonEmpty)
        assert(accepts("any_text") == declared.isEmpty, s"${group.format} ${spec.name}")
    }
  }

  test("no option is declared twice, in any case") {
    Epochal.formats.foreach { group =>
      val names = group.specs.map(_.name.toLowerCase(java.util.Locale.ROOT).replaceAll("[^a-z]", ""))
      assert(names.distinct == names, group.format)
    }
  }

  test("the version is the release's") {
    assert(Epochal.version.matches("\\d+\\.\\d+\\.\\d+.*"))
  }
}
