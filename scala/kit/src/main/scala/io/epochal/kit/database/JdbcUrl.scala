package io.epochal.kit.database

import java.net.URLDecoder
import java.nio.charset.StandardCharsets.UTF_8
import java.util.Locale

import scala.util.Try

import io.epochal.core.error.Redaction.Mask

/** A JDBC URL as it may be shown. Each driver has its own syntax for users and passwords, so nothing is cut out: only parts that
  * are known to be harmless are kept (hosts, ports, the database, a file's path), and anything not understood is masked.
  *
  * | URL | shown |
  * |---|---|
  * | `jdbc:postgresql://me:pw@db:5432/shop?password=pw` | `jdbc:postgresql://db:5432/shop` |
  * | `jdbc:sqlserver://db:1433;databaseName=shop;password={p;w}` | `jdbc:sqlserver://db:1433;databaseName=shop` |
  * | `jdbc:db2://db:50000/shop:user=me;password=pw;` | `jdbc:db2://db:50000/shop` |
  * | `jdbc:oracle:thin:me/pw@db:1521:shop` | `jdbc:oracle:thin:@db:1521:shop` |
  * | `jdbc:h2:mem:shop;PASSWORD=pw` | `jdbc:h2:mem:shop` |
  * | `jdbc:teradata://db/DATABASE=shop,PASSWORD=pw` | `jdbc:teradata://db/`, then the mask |
  * | `jdbc:unknown:me:pw` | `jdbc:unknown:`, then the mask |
  * | mistyped: `postgresql://me:pw@db/shop`, `db:5432/shop` | `postgresql://db/shop`, `db:5432/shop` |
  */
private[epochal] object JdbcUrl {

  private val Scheme = "(?i)(jdbc:[a-z0-9+_.-]+:)(.*)".r

  private val OtherScheme = "(?i)((?:[a-z][a-z0-9+_.-]*:)+)(//.*)".r

  // Patterns of what may be shown, without capturing groups.
  private val Host = """(?:[\w.-]+(?:\\[\w$-]+)?|\[[0-9a-fA-F:.%]+\])(?::\d+)?"""
  private val Hosts = s"(?:$Host(?:,$Host)*)?"
  private val Path = """(?:/[\w.$~%-]*)*"""

  /** Parameters, all with names. Anything that begins otherwise may be the rest of a password. */
  private val Parameters = """(?s)(?:[?;#:][\w. -]+=.*|[?;#])?"""

  private val AtHost = s"((?:[a-z]+:)*//$Hosts$Path)($Parameters)".r
  private val AtOracle = s"""((?:tcps?:)?(?://)?$Host(?:[:/][\\w.$$-]+)*)($Parameters)""".r
  private val HostOnly = s"((?:[a-z]+:)*//$Host/).*".r
  private val File = s"(?s)([^;?#]*)($Parameters)".r
  private val Name = s"([\\w.-]+)($Parameters)".r

  /** A place that lacks its scheme, the colon behind it, or a slash before its host. With an `@` it may begin with a login. */
  private val Bare = s"(?i)((?:(?:[a-z][\\w+.-]*:)*[a-z][\\w+.-]*//|/)?(?:$Host)?$Path)($Parameters)".r

  /** URLs of databases in this process or in a file: their paths contain no login. */
  private val OfFiles = Set("jdbc:sqlite:", "jdbc:h2:", "jdbc:hsqldb:", "jdbc:derby:", "jdbc:duckdb:")
  def isOfFile(url: String): Boolean = OfFiles.exists(url.trim.toLowerCase(Locale.ROOT).startsWith)

  private val OfNames = Set("jdbc:postgresql:")

  private val Shown = Set("databasename", "database", "servername", "instancename", "portnumber", "port")
  private val Harmless = """[\w.$\\-]+""".r

  def shown(url: String): String = url.trim match {
    case Scheme(scheme, rest)                 => scheme + described(scheme.toLowerCase(Locale.ROOT), rest)
    case OtherScheme(scheme, rest)            => scheme + described(scheme, rest)
    case Bare(place, _) if !url.contains('@') => place
    case _                                    => Mask
  }

  /** The URL that was meant by one without `jdbc:`, or with another beginning, as it may be shown. */
  def meant(url: String): Option[String] = shown(url) match {
    case Mistyped(driver, rest) if !rest.contains(Mask) =>
      val place = if (driver == "sqlite") rest.stripPrefix("///") else rest
      Some(s"jdbc:${if (driver == "postgres") "postgresql" else driver}:$place")
    case _ => None
  }

  private val Mistyped = "(?:[a-z]+:)?(postgres|postgresql|mysql|mariadb|sqlite|sqlserver|h2|db2)(?:\\+\\w+)?:(.+)".r

  private def described(scheme: String, rest: String): String = (rest, rest.lastIndexOf('@')) match {
    case (AtHost(place, parameters), _) => place + harmless(parameters)
    case (File(path, _), _) if OfFiles(scheme) && !(path.contains("//") && path.contains('@')) => path
    case (Name(name, _), _) if OfNames(scheme)                                                 => name
    case (HostOnly(place), -1)                                                                 => place + Mask
    case (Bare(place, _), -1) if place.startsWith("/")                                         => place
    case (_, -1)                                                                               => Mask
    case (_, at) if rest.take(at).exists("?;#=".contains(_))                                   => Mask
    case (_, at) if rest.contains("//") && rest.indexOf("//") < at =>
      val start = rest.indexOf("//") + 2
      rest.take(start) + rest.drop(at + 1) match {
        case AtHost(place, parameters) => place + harmless(parameters)
        case _                         => Mask
      }
    case (_, at) if scheme == "jdbc:oracle:" =>
      val driver = "^[a-z0-9]+:".r.findFirstIn(rest.take(at + 1)).filter(Drivers).getOrElse("")
      rest.drop(at + 1) match {
        case AtOracle(place, _) => s"$driver@$place"
        case _                  => s"$driver@$Mask"
      }
    case _ => Mask
  }

  /** Oracle's drivers. */
  private val Drivers = Set("thin:", "oci:", "oci8:")

  private def harmless(parameters: String): String =
    if (!parameters.startsWith(";")) ""
    else
      Pair
        .findAllMatchIn(parameters)
        .map(pair => (pair.group(1), pair.group(2)))
        .collect {
          case (name, value) if Shown(name.toLowerCase(Locale.ROOT)) && Harmless.matches(value) => s";$name=$value"
        }
        .mkString

  private val Pair = """(?s)([\w.]+)=(\{(?:[^}]|\}\})*\}?|[^;]*)""".r

  /** The parts of a URL that must be masked in a driver's messages: every piece between separators, which differ by driver, unless
    * its name or position shows that it is harmless.
    */
  def secrets(url: String): Seq[String] = {
    val visibleParts = shown(url).split(Separators).toSet
    url
      .split(Separators)
      .toSeq
      .map { piece =>
        val (name, value) = piece.span(_ != '=')
        if (value.isEmpty) piece else if (isHarmless(name)) "" else value.drop(1)
      }
      .flatMap(piece => Seq(piece, piece.replaceAll("[{}\"]", "")) ++ Try(URLDecoder.decode(piece, UTF_8)).toOption)
      .distinct
      .filterNot(visibleParts)
  }

  private val Separators = "[?&;#,()@/: ]"

  private def isHarmless(name: String): Boolean = {
    val key = name.toLowerCase(Locale.ROOT)
    Shown(key) || Settings(key) || key.startsWith("ssl")
  }

  /** Who logs in, and how, is no secret: errors may show it. Every property that is not listed counts as secret. */
  private val Settings = DriverProperties.names("public")
}
