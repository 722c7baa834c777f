package io.epochal.formats

import java.nio.file.{Files, Path, Paths}

import io.epochal.core.error.{Conditions, Reference}
import io.epochal.formats.{Epochal, OptionsDocument}

/** The documents that are generated from declarations. `make docs` writes them, [[DocumentsSuite]] holds them to the code. */
object Documents {

  def all: Seq[(Path, String)] = {
    val docs = Paths.get(System.getProperty("epochal.root", ".")).resolve("docs")
    Seq(docs.resolve("OPTIONS.md") -> OptionsDocument.markdown(Epochal.formats), docs.resolve("ERRORS.md") -> errors)
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
    def shown(template: String): String = Reference.plain(template).replace("<", "*").replace(">", "*")
    val rows = Conditions.all.map(c => s"- `${c.name}`: ${shown(c.text.problem)} → ${shown(c.text.hint)}")
    val head = Seq(
      "# Error conditions",
      "",
      "Generated from `conditions.json` by `make docs`. Every error reads",
      "`[EPOCHAL.<CONDITION>] <problem> Hint: <hint>`; here an arrow separates problem and hint. A released name keeps its",
      "meaning.",
      "")
    (head ++ rows).mkString("", "\n", "\n")
  }
}
