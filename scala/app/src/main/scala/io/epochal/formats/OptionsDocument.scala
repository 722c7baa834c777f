package io.epochal.formats

import com.fasterxml.jackson.databind.ObjectMapper
import com.fasterxml.jackson.databind.node.ObjectNode

import io.epochal.core.option.{OptionGroup, OptionSpec}

/** The declared options as JSON, for other languages. */
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
    val choices = node.putArray("allowed")
    spec.kind.allowed.foreach(choices.add(_))
    node.put("doc", spec.doc)
    ()
  }
}
