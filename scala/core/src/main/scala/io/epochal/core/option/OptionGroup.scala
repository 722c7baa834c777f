package io.epochal.core.option

import java.util.Locale

import io.epochal.core.error.{Conditions, EpochalException, Redaction}

/** The options of one format, in the order of the documentation. */
final case class OptionGroup(format: String, description: String, specs: Seq[OptionSpec[_]]) {

  private val families = specs.filter(_.isFamily)
  private val byName = specs.filterNot(_.isFamily).map(spec => spec.name.toLowerCase(Locale.ROOT) -> spec).toMap

  /** Parses the user's options; names match in any case. Rejects unknown names, all at once and with the nearest known ones,
    * values of the wrong type, and missing required options.
    */
  def parse(raw: Map[String, String]): Either[EpochalException, OptionValues] = {
    val (others, ownValues) = split(raw)
    for {
      _ <- strays(others).toLeft(())
      byName <- ownValues.foldLeft[OptionGroup.ParseResult](Right(Map.empty)) {
        case (Right(values), (spec, name, text)) => parseOne(spec, name, text).map(values + _)
        case (error, _)                          => error
      }
      _ <- specs
        .find(spec => spec.required && !byName.contains(spec.name))
        .map(spec => if (OptionGroup.isCatalogTable(raw) && ownValues.isEmpty) withoutOptions else missing(spec))
        .toLeft(())
    } yield new OptionValues(this, byName)
  }

  /** Rejects unknown names, as `parse` does.
    *
    * @param prefix
    *   of all names in the error
    */
  def checkNames(raw: Map[String, String], prefix: String): Either[EpochalException, Unit] =
    strays(split(raw)._1, prefix).toLeft(())

  /** The unknown names, and the other options. */
  private def split(raw: Map[String, String]): (Seq[String], Seq[(OptionSpec[_], String, String)]) = {
    val ours = raw.filterNot { case (name, _) =>
      OptionGroup.belongsToSpark(name, raw) && !knows(name)
    }
    ours.toSeq.sortBy(_._1).partitionMap { case (name, text) =>
      specOf(name).map(spec => (spec, name, text)).toRight(name)
    }
  }

  /** Whether the format has an option of this name. */
  def knows(name: String): Boolean = specOf(name).isDefined

  private def specOf(name: String): Option[OptionSpec[_]] =
    byName
      .get(name.toLowerCase(Locale.ROOT))
      .orElse(families.find(family => startsWith(name, family.prefix)))

  /** The option's canonical name, and its value. */
  private def parseOne(spec: OptionSpec[_], name: String, text: String): Either[EpochalException, (String, Any)] =
    if (spec.isFamily)
      parseValue(spec, name, text).map(value => (spec.prefix + name.substring(spec.prefix.length)) -> value)
    else parseValue(spec, spec.name, text).map(value => spec.name -> value)

  private def startsWith(name: String, prefix: String): Boolean =
    name.length > prefix.length && name.regionMatches(true, 0, prefix, 0, prefix.length)

  private def parseValue(spec: OptionSpec[_], name: String, text: String): Either[EpochalException, Any] =
    Option(text).flatMap(spec.kind.parse(_)).toRight {
      val display = if (spec.secret) Redaction.Mask else Redaction.text(String.valueOf(text))
      OptionGroup.invalid(format, name, display, spec.kind.expected, spec.example, spec.kind.allowed)
    }

  /** One error for all unknown names. */
  private def strays(names: Seq[String], prefix: String = ""): Option[EpochalException] = Option.when(names.nonEmpty) {
    val suggestions = names.flatMap(Nearest.of(_, specs.map(_.name))).distinct
    Conditions.OptionUnknown(
      "format" -> (if (prefix.isEmpty) format else s"$format ($prefix*)"),
      "option" -> names.map(prefix + _).mkString("' or '"),
      "suggestion" -> (if (names.exists(OptionGroup.Paths)) "Call start(), save() and load() without a path."
                       else if (suggestions.isEmpty) s"Its options are ${specs.map(_.name).mkString(", ")}."
                       else s"Did you mean ${suggestions.map(right => s"'$prefix$right'").mkString(" and ")}?")
    )
  }

  /** Spark creates a table in its catalog, without passing its options. */
  private def withoutOptions: EpochalException = unsupported(
    "make a table of Spark's catalog without its options",
    "toTable and saveAsTable do not hand them on",
    s"Use start() in place of toTable(…), save() in place of saveAsTable(…); or first CREATE TABLE name (columns) USING `$format` OPTIONS (…)."
  )

  /** The error for an option's value, as [[OptionGroup.invalid]]. */
  def invalid(
      spec: OptionSpec[_],
      value: String,
      expected: String,
      allowed: Seq[String] = Nil,
      whole: String => String = identity): EpochalException =
    OptionGroup.invalid(format, spec.name, value, expected, spec.example, allowed, whole)

  /** The error for options that exclude each other. */
  def conflict(options: String, suggestion: String): EpochalException =
    Conditions.OptionConflict("format" -> format, "options" -> options, "suggestion" -> suggestion)

  /** The error for a use that the format does not support, as [[OptionGroup.unsupported]]. */
  def unsupported(mode: String, reason: String, suggestion: String): EpochalException =
    OptionGroup.unsupported(format, mode, reason, suggestion)

  private[option] def missing(spec: OptionSpec[_]): EpochalException =
    OptionGroup.missing(format, spec, spec.doc.stripSuffix("."))
}

object OptionGroup {
  private type ParseResult = Either[EpochalException, Map[String, Any]]

  /** Options that Spark itself reads and passes to every source and sink. */
  private val sparkOwn =
    Set("checkpointlocation", "queryname", "recoverstatefuloperators", "withwatermark", "name")

  /** Options that hold the argument of `start`, `save` and `load`. */
  private val Paths = Set("path", "paths")

  /** The hint for a value that is close to an allowed one. */
  private lazy val Misspelt = Conditions.OptionInvalid.withHint("Did you mean {option:<example>}?")

  /** The error for an option's value; suggests the nearest allowed value, if it is close.
    *
    * @param value
    *   as it may be shown
    * @param expected
    *   completes "which is not …"
    * @param allowed
    *   all allowed values, if they are known
    * @param whole
    *   the option's text for an allowed value, if `value` is a part of it
    */
  def invalid(
      format: String,
      option: String,
      value: String,
      expected: String,
      example: String,
      allowed: Seq[String] = Nil,
      whole: String => String = identity): EpochalException = {
    val suggestions = Nearest.of(value.trim, allowed)
    suggestions.fold(Conditions.OptionInvalid)(_ => Misspelt)(
      "option" -> option,
      "format" -> format,
      "value" -> value,
      "expected" -> expected,
      "example" -> suggestions.fold(example)(right => s"$option=${whole(right)}")
    )
  }

  /** The error for a use that a format does not support.
    *
    * @param mode
    *   completes "… cannot"
    */
  def unsupported(format: String, mode: String, reason: String, suggestion: String): EpochalException =
    Conditions.ModeUnsupported("format" -> format, "mode" -> mode, "reason" -> reason, "suggestion" -> suggestion)

  /** The error for an option that must be set.
    *
    * @param doc
    *   what the option says, or why it is needed
    */
  def missing(format: String, spec: OptionSpec[_], doc: String): EpochalException =
    Conditions.OptionRequired("format" -> format, "option" -> spec.name, "doc" -> doc, "example" -> spec.example)

  private def isCatalogTable(raw: Map[String, String]): Boolean = raw.contains("provider") && raw.contains("owner")

  private val catalogOwn =
    Set("provider", "owner", "location", "external", "is_managed_location", "comment", "collation", "table_type")

  /** Whether Spark passes the option to every format, or it is a property of a catalog's table, which also repeats its options as
    * `option.<name>`.
    */
  private def belongsToSpark(name: String, raw: Map[String, String]): Boolean = {
    val lower = name.toLowerCase(Locale.ROOT)
    sparkOwn(lower) || Seq("asyncprogresstracking", "_", "spark.").exists(lower.startsWith(_)) ||
    isCatalogTable(raw) && (catalogOwn(lower) || Paths(lower) || lower.startsWith("option."))
  }
}
