package io.epochal.formats

import com.fasterxml.jackson.databind.ObjectMapper
import com.fasterxml.jackson.databind.node.ObjectNode

import io.epochal.core.option.{OptionGroup, OptionSpec}

/** The declared options as documents: Markdown for people, JSON for other languages. */
private[epochal] object OptionsDocument {

  private val mapper = new ObjectMapper()

  def json(formats: Seq[OptionGroup]): String = {
    val root = mapper.createObjectNode()
    formats.foreach { group =>
      val node = root.putObject(group.format).put("description", group.description)
      val options = node.putArray("options")
      group.specs.foreach(spec => describe(spec, options.addObject()))
    }
    mapper.writeValueAsString(root)
  }

  private def describe(spec: OptionSpec[_], node: ObjectNode): Unit = {
    node.put("name", spec.name).put("type", spec.kind.name).put("default", spec.defaultText.orNull)
    node.put("required", spec.required).put("secret", spec.secret).put("prefix", spec.isFamily)
    val allowed = node.putArray("allowed")
    spec.kind.allowed.foreach(allowed.add(_))
    node.put("doc", spec.doc)
    ()
  }

  def markdown(formats: Seq[OptionGroup]): String = {
    val sections = formats.map { group =>
      val rows = group.specs.map { spec =>
        val default = spec.defaultText.fold(if (spec.required) "**required**" else "")(text => s"`$text`")
        val kind = if (spec.kind.allowed.size > 2) spec.kind.allowed.mkString(" \\| ") else spec.kind.name
        val notes = spec.doc + (if (spec.secret) " *Secret: shown nowhere.*" else "")
        s"| `${spec.name}` | $kind | $default | ${notes.replace("|", "\\|")} |"
      }
      s"## `${group.format}`\n\n${group.description}\n\n| option | type | default | meaning |\n|---|---|---|---|\n${rows.mkString("\n")}\n"
    }
    val head = Seq(
      "# Options",
      "",
      "Generated from the declarations in the code by `make docs`. Names are matched whatever their case; an unknown name is",
      "refused. How each is written in Python is in [python.md](python.md#options).",
      "",
      "A duration is a whole number with `ms`, `s`, `m`, `h` or `d` (`30s`, `10 minutes`), never without a unit; in Python a `timedelta` too. A size is a number of",
      "bytes, or one with `k`, `m` or `g` (powers of 1024). Several names have commas between them; in Python they are a list.",
      "",
      "")
    head.mkString("\n") + sections.mkString("\n")
  }
}
