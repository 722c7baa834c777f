package io.epochal.formats

import java.nio.file.{Files, Path, Paths}
import java.util.Locale
import java.util.regex.Matcher.quoteReplacement

import io.epochal.core.error.{Conditions, Reference}
import io.epochal.core.option.{OptionGroup, OptionSpec}
import io.epochal.formats.Epochal

/** Documents generated from declarations. `make docs` writes them; [[DocumentsSuite]] checks that they are up to date. */
object Documents {

  def all: Seq[(Path, String)] = {
    val docs = Paths.get(System.getProperty("epochal.root", ".")).resolve("docs")
    Seq(docs.resolve("OPTIONS.md") -> OptionsPage.markdown(Epochal.formats), docs.resolve("ERRORS.md") -> errors)
  }

  /** Takes no arguments. */
  def main(arguments: Array[String]): Unit = {
    require(arguments.isEmpty, "Documents takes no arguments")
    all.foreach { case (path, text) =>
      Files.createDirectories(path.getParent)
      Files.writeString(path, text)
    }
  }

  private def errors: String = {
    val rows = Conditions.all.map(c => s"- `${c.name}`: ${markdown(c.text.problem)} → ${markdown(c.text.hint)}")
    val head = Seq(
      "# Error conditions",
      "",
      "Generated from `conditions.json` by `make docs`. Every error reads",
      "`[EPOCHAL.<CONDITION>] <problem> Hint: <hint>`; here an arrow separates problem and hint, and *italics* or `<…>` stand",
      "for values. A released name keeps its meaning.",
      "")
    (head ++ rows).mkString("", "\n", "\n")
  }

  private val Marks =
    raw"(\{(?:option|schema|trigger):[^{}]*})|<([A-Za-z]\w*)>(?=(<[A-Za-z]\w*>)?)|<(?=[A-Za-z/!?])|&(?=#?\w+;)".r
  private val Emphasis = raw"[\\`]|\[(?=[^\]]*]\()|(?<!\s)\*|\*(?!\s)|(?<=\S)_(?![A-Za-z0-9])".r

  /** The text of an error as Markdown: an option is code, a placeholder is emphasised, all else stands for itself. */
  private[formats] def markdown(text: String): String = {
    val between = Marks.split(text).map(Emphasis.replaceAllIn(_, found => quoteReplacement("\\" + found.matched)))
    val marks = Marks.findAllMatchIn(text).map { found =>
      if (found.group(1) != null) s"`${Reference.plain(found.matched)}`"
      else if (found.group(2) != null) s"*${found.group(2)}*" + (if (found.group(3) == null) "" else "<!-- -->")
      else if (found.matched == "<") "&lt;"
      else "&amp;"
    }
    between.iterator.zipAll(marks, "", "").map { case (plain, mark) => plain + mark }.mkString
  }

  private val Typed = raw"[\w:]*<[A-Za-z][^<>]*>|[\w.]+\.\*".r

  /** The description of an option as Markdown: `append:<id>` and `params.*` are code. */
  private[formats] def described(doc: String): String =
    Typed.replaceAllIn(doc, found => quoteReplacement(s"`${found.matched}`"))
}

/** `docs/OPTIONS.md`: each option once, shared ones in sections of their own. */
private object OptionsPage {

  /** Title and formats of each section with common options. */
  private val shared = Seq(
    "All sources" -> Seq("epochal-random", "epochal-ingest", "epochal-cdc", "epochal-rest"),
    "HTTP client" -> Seq("epochal-rest", "epochal-rest sink"),
    "Retries" -> Seq("epochal-cdc", "epochal-rest", "epochal-rest sink", "epochal-jdbc"))

  private val Head =
    """# Options
      |
      |Generated from the declarations in the code by `make docs`. Brackets hold an option's type or values, and its default.
      |Case does not matter in names; an unknown name is refused. Names in Python: [python.md](python.md#options).
      |
      |A duration is a whole number with `ms`, `s`, `m`, `h` or `d`, as `30s`. A size is a number of bytes, or one with `k`,
      |`m` or `g` (powers of 1024). Names are separated by commas.
      |
      |A *secret* appears in no message, plan or log. Instead of its value, `…File` names a file on the driver (a line
      |break at its end does not count), `…Env` an environment variable of the driver.
      |""".stripMargin

  def markdown(formats: Seq[OptionGroup]): String = {
    def section(spec: OptionSpec[_]): Option[(String, Seq[String])] = {
      val users = formats.filter(_.specs.exists(one => one.name == spec.name && line(one) == line(spec))).map(_.format)
      shared.filter { case (_, whose) => whose.forall(users.contains) }.maxByOption { case (_, whose) => whose.size }
    }
    val ofFormats = formats.map { group =>
      val common = shared.collect {
        case (title, whose) if whose.contains(group.format) => s"[$title](#${anchor(title)})"
      }
      val also = if (common.isEmpty) "" else s" Further options: ${common.mkString(", ")}."
      val own = group.specs.filterNot(section(_).exists { case (_, whose) => whose.contains(group.format) })
      s"## `${group.format}`\n\n${Documents.described(group.description)}$also\n\n${lines(own, group.specs)}"
    }
    val ofSeveral = shared.map { case (title, whose) =>
      val all = formats.filter(group => whose.contains(group.format)).flatMap(_.specs).distinctBy(_.name)
      val names = whose.map(name => s"`$name`").mkString(", ")
      s"## $title\n\nOf $names.\n\n${lines(all.filter(section(_).exists(_._1 == title)), all)}"
    }
    (Head +: (ofFormats ++ ofSeveral)).mkString("\n")
  }

  private def anchor(title: String): String = title.toLowerCase(Locale.ROOT).replace(' ', '-')

  private def lines(specs: Seq[OptionSpec[_]], all: Seq[OptionSpec[_]]): String =
    specs.filterNot(isVariant(_, all)).map(spec => line(spec, variants(spec, all)) + "\n").mkString

  private def line(spec: OptionSpec[_], variants: Seq[String] = Nil): String = {
    val names = (spec.name +: variants).map(name => s"`$name`").mkString(", ")
    val kind =
      if (spec.secret) "secret"
      else if (spec.kind.allowed.nonEmpty && spec.kind.name != "boolean") spec.kind.allowed.mkString("/")
      else spec.kind.name
    val default = if (spec.required) Some("**required**") else spec.defaultText.map(text => s"default `$text`")
    s"- $names (${(kind +: default.toSeq).mkString(", ")}): ${Documents.described(spec.doc)}"
  }

  /** The options that give a secret by a file or by a variable. */
  private def variants(spec: OptionSpec[_], all: Seq[OptionSpec[_]]): Seq[String] =
    if (spec.secret) Seq("File", "Env").map(spec.name + _).filter(name => all.exists(_.name == name)) else Nil

  private def isVariant(spec: OptionSpec[_], all: Seq[OptionSpec[_]]): Boolean =
    all.exists(variants(_, all).contains(spec.name))
}
