package io.epochal.kit.connector

import java.lang.{Boolean => JavaBoolean, Long => JavaLong}
import java.time.Duration
import java.util

import scala.annotation.varargs
import scala.jdk.CollectionConverters._

import io.epochal.core.annotation.Stable
import io.epochal.core.option.{NameList, OptionSpec, OptionType}

/** Declares the options of a connector, each once: its name, its type and a sentence of documentation. Checks, errors (with the
  * nearest option name) and documentation come from the declaration.
  *
  * Methods of the declaration modify it: `Options.text("url", "Address of the server.").asRequired`.
  */
@Stable
object Options {

  /** A non-empty text. */
  def text(name: String, doc: String): OptionSpec[String] = OptionSpec(name, OptionType.string, doc)

  /** A whole number. */
  def number(name: String, doc: String, min: Long, max: Long): OptionSpec[JavaLong] =
    OptionSpec(name, boxType(OptionType.long(min, max)), doc)

  /** true or false. */
  def flag(name: String, doc: String, default: Boolean): OptionSpec[JavaBoolean] =
    OptionSpec(name, boxType(OptionType.boolean), doc, Some(JavaBoolean.valueOf(default)))

  /** A duration with its unit: `500ms`, `30s`, `2 hours`. */
  def duration(name: String, doc: String): OptionSpec[Duration] = OptionSpec(name, OptionType.duration, doc)

  /** A size in bytes, plain or with k, m or g: `64m`. */
  def bytes(name: String, doc: String): OptionSpec[JavaLong] = OptionSpec(name, boxType(OptionType.bytes), doc)

  /** One of a few words, in any case. */
  @varargs
  def choice(name: String, doc: String, words: String*): OptionSpec[String] =
    OptionSpec(name, OptionType.oneOf(words: _*), doc)

  /** One or more names, separated by commas. */
  def names(name: String, doc: String): OptionSpec[util.List[String]] = {
    val kind = new OptionType[util.List[String]]("names", OptionType.names.expected, OptionType.names.example)(
      NameList.names(_).map(_.asJava),
      names => NameList.render(names.asScala.toSeq))
    OptionSpec(name, kind, doc)
  }

  /** The same values under Java's types: values of a generic type are boxed in any case. */
  private def boxType[A, B](kind: OptionType[A]): OptionType[B] = kind.asInstanceOf[OptionType[B]]
}
