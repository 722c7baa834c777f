package io.epochal.rest.source.paging

import java.util.Locale

import scala.util.matching.Regex

import io.epochal.core.error.EpochalException
import io.epochal.core.hash.Sha256
import io.epochal.core.option.{OptionSpec, OptionType}
import io.epochal.rest.http.request.{Endpoint, RequestOptions}

/** A table of parameters: each row is a member, a sequence of requests with options and a position of its own. Its names and values
  * tell it from the others, in the offsets too: so a member that left the table can be made again where a replay needs it.
  *
  * @param raw
  *   the options as given, with places such as `${repo}`
  * @param table
  *   the rows, in their order
  * @param query
  *   the one budget of all members
  * @param source
  *   the identity of the template
  */
final class FanOut private (
    raw: Map[String, String],
    val table: Seq[Map[String, String]],
    query: String,
    source: String)
    extends Serializable {

  /** The options of a member. */
  def member(params: Map[String, String]): Either[EpochalException, RestOptions] =
    RestOptions.single(FanOut.filled(raw, params)).map { options =>
      val politeness = options.http.politeness.copy(query = query)
      options.copy(
        http = options.http.copy(politeness = politeness),
        source = s"$source ${FanOut.shown(params)}",
        numPartitions = None,
        params = params)
    }

  /** The options of the first member. */
  def first: RestOptions = member(table.head).fold(throw _, identity)

  override def toString: String = s"FanOut(${table.map(FanOut.shown).mkString(", ")})"
}

private[rest] object FanOut {

  val PartitionParams: OptionSpec[String] = OptionSpec(
    "partitionParams",
    OptionType.string,
    "A JSON array of objects with the same names: each has its own sequence of requests, in which ${name} in url, params.* " +
      "and requestBody stands for its value. The values are in the offsets: no place for secrets. Unset: one sequence.",
    sample = Some("""[{"repo": "a"}, {"repo": "b"}]""")
  )

  /** The options of the template, with the table in them; None without one. */
  def read(raw: Map[String, String]): Option[Either[EpochalException, RestOptions]] =
    raw.collectFirst { case (name, text) if name.equalsIgnoreCase(PartitionParams.name) => text }.map { text =>
      for {
        table <- ParamsTable.read(text)
        names = table.head.keySet
        _ <- placed(raw, names)
        template <- RestOptions.single(filled(raw, names.map(name => name -> s"{$name}").toMap))
        _ <- Either.cond(
          !template.restarts,
          (),
          RestOptions.group.conflict(
            "partitionParams, onDrift=restart",
            "Leave onDrift=restart out: one list of several cannot be read again alone."))
        fanOut = new FanOut(raw, table, template.http.politeness.query, template.source)
        _ <- table.iterator.map(fanOut.member).collectFirst { case Left(wrong) => wrong }.toLeft(())
      } yield template.copy(fanOut = Some(fanOut))
    }

  /** A member's name in messages. */
  def shown(params: Map[String, String]): String =
    params.toSeq.sorted.map { case (name, value) => s"$name=$value" }.mkString("[", ", ", "]")

  /** The directory of a member's journal. */
  def directory(params: Map[String, String]): String = {
    val text = params.toSeq.sorted.map { case (name, value) => s"${Endpoint.encode(name)}=${Endpoint.encode(value)}" }
    Sha256.hex(text.mkString("&"), 16)
  }

  /** A place before the path. */
  private val Server = """^(?:[^/?#]*//)?[^/?#]*\$\{""".r

  private val Place = """\$\{([A-Za-z_][A-Za-z0-9_]*)}""".r

  private def isUrl(name: String): Boolean = name.equalsIgnoreCase(RestOptions.Url.name)
  private def isParam(name: String): Boolean =
    name.toLowerCase(Locale.ROOT).startsWith(RequestOptions.Params.prefix.toLowerCase(Locale.ROOT))
  private def isBody(name: String): Boolean = name.equalsIgnoreCase(PageCall.RequestBody.name)

  /** The options with values in their places. Places of other names stay. */
  private def filled(raw: Map[String, String], params: Map[String, String]): Map[String, String] = {
    val contentType = raw
      .collectFirst {
        case (name, kind) if name.equalsIgnoreCase(s"${RequestOptions.Headers.prefix}Content-Type") => kind
      }
      .getOrElse(PageCall.Json)
    def fill(text: String, encode: String => String): String =
      Place.replaceAllIn(text, place => Regex.quoteReplacement(params.get(place.group(1)).fold(place.matched)(encode)))
    raw.map {
      case (name, text) if isUrl(name)   => name -> fill(text, Endpoint.encode)
      case (name, text) if isParam(name) => name -> fill(text, identity)
      case (name, text) if isBody(name)  => name -> fill(text, PageCall.encoded(contentType, _))
      case other                         => other
    }
  }

  private def placed(raw: Map[String, String], names: Set[String]): Either[EpochalException, Unit] = {
    def places(wanted: String => Boolean): Set[String] = raw
      .collect {
        case (name, text) if wanted(name) =>
          Place.findAllMatchIn(text).map(_.group(1)).toSet
      }
      .foldLeft(Set.empty[String])(_ ++ _)
    val strange = places(name => isUrl(name) || isParam(name)) -- names
    val used = places(name => isUrl(name) || isParam(name) || isBody(name)).intersect(names)
    if (raw.exists { case (name, text) => isUrl(name) && Server.findFirstIn(text).nonEmpty })
      Left(
        RestOptions.group.conflict(
          "partitionParams, a place in scheme, host or port of url",
          "Start a query for each server: a query has one budget, for one server."))
    else if (strange.nonEmpty)
      Left(
        RestOptions.group.conflict(
          s"partitionParams, ${strange.toSeq.sorted.map(name => s"$${$name}").mkString(", ")} in url or params",
          s"Give each row a value for it; its names are ${names.toSeq.sorted.mkString(", ")}."))
    else if (used.isEmpty)
      Left(
        RestOptions.group.conflict(
          "partitionParams, no place for any of its names",
          s"Write $${${names.toSeq.min}} in url, params.* or requestBody where its value is to stand."))
    else Right(())
  }
}
