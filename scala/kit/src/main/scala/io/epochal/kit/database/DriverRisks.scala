package io.epochal.kit.database

import java.net.URLDecoder
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.InvalidPathException
import java.util.Locale

import scala.util.Try

import io.epochal.kit.access.{DriverAccess, Secret}

/** Refuses what a JDBC driver can be made to do besides connecting: load a class, read a file, run a script.
  *
  * Properties that can do so ([[Dangerous]]) are refused on every Spark driver, unless its owner allows them. If several users
  * share the Spark driver, the rule is reversed: only [[Harmless]] properties and those that the owner allows are accepted; files
  * (certificates, an SQLite database) and driver classes must be on the owner's list.
  *
  * Each driver parses properties in URLs in its own way. So a name counts wherever a piece of the URL, between any of the
  * separators, has the form `name=value`; in any case, percent-encoded or with backslashes.
  */
private[epochal] object DriverRisks {

  /** @return
    *   the settings, plus the ones that keep the driver from reading files of its own accord
    * @throws EpochalException
    *   OPTION_NOT_ALLOWED
    */
  def check(settings: ConnectionSettings, access: DriverAccess): ConnectionSettings = {
    val ownParameters = settings.properties.toSeq.map { case (name, value) =>
      Property(name, value, "connection.", whole = true)
    } ++
      ofUrl(settings.url)
    ownParameters.foreach(check(_, access))
    if (access.isShared) {
      checkDriver(settings, access)
      sqliteFile(settings.url).foreach(checkFile("url", _, access))
    }
    withoutPasswordFile(settings, access)
  }

  /** @param whole
    *   the value is known to be complete, not cut at a character that another driver treats as a separator
    */
  final private case class Property(name: String, value: String, where: String, whole: Boolean) {
    // As a driver would: a letter such as a dotless i is an I in upper case.
    val key: String = name.trim.toUpperCase(Locale.ROOT).toLowerCase(Locale.ROOT)
    def shown: String = s"$where$name"
  }

  private def check(property: Property, access: DriverAccess): Unit =
    if (!access.allowsProperty(property.key, property.value))
      if (isDangerous(property)) throw access.refusedProperty(property.shown, Some(Danger))
      else if (access.isShared)
        if (Files(property.key) && property.whole) checkFile(property.shown, property.value, access)
        else if (!Harmless(property.key)) throw access.refusedProperty(property.shown, None)

  private def checkFile(option: String, path: String, access: DriverAccess): Unit =
    try access.file(option, path): Unit
    catch { case _: InvalidPathException => throw access.refusedProperty(option, None) }

  private val Danger = "it can make the JDBC driver run code, or read or write files"

  private def isDangerous(property: Property): Boolean = {
    val value = property.value.trim
    val harmless = Switches(property.key) && Off(value.toLowerCase(Locale.ROOT)) ||
      WellKnown.get(property.key).exists(_.exists(_.equalsIgnoreCase(value)))
    Dangerous(property.key) && !harmless
  }

  /** Databases with a dialect have a known driver class; any other class is the owner's choice. */
  private def checkDriver(settings: ConnectionSettings, access: DriverAccess): Unit = {
    val usual = DriverProperties.driver(settings.url).map(_._1)
    settings.driver match {
      case Some(driver) => if (!usual.contains(driver)) access.classNamed("{option:driver}", driver)
      case None if usual.isEmpty =>
        access.classNamed(s"{option:url=${settings.place}} without {option:driver}", "the.class.of.Driver")
      case None => ()
    }
  }

  /** PgJDBC looks for a password file in the user's home, and sends what it finds to the server in the URL. This empty password
    * prevents that; a password in the URL takes precedence over it.
    */
  private def withoutPasswordFile(settings: ConnectionSettings, access: DriverAccess): ConnectionSettings =
    if (access.isShared && settings.password.isEmpty && scheme(settings.url) == "postgresql" &&
      !settings.properties.contains("password"))
      settings.copy(password = Some(Secret.Given("")))
    else settings

  private val Scheme = "(?is)jdbc:([a-z0-9+_.-]+):.*".r

  /** The name after `jdbc:`, in lower case; empty if the URL is none of JDBC. */
  def scheme(url: String): String = url.trim match {
    case Scheme(name) => name.toLowerCase(Locale.ROOT)
    case _            => ""
  }

  /** The database file, as SQLite parses the URL; a database in memory has none. */
  def sqliteFile(url: String): Option[String] = Option
    .when(scheme(url) == "sqlite")(url.trim.drop("jdbc:sqlite:".length).takeWhile(_ != '?'))
    .map { path =>
      if (path.startsWith("file:"))
        decode(path.stripPrefix("file:").takeWhile(_ != '#').replaceFirst("^//[^/]*", "").replace("+", "%2B"))
      else path
    }
    .filterNot(path => path.isEmpty || path.equalsIgnoreCase(":memory:"))

  /** Parameters after `?` or `;`, with their values, and anything else that some driver may treat as one. */
  private def ofUrl(url: String): Seq[Property] = {
    val decodings = Seq(url, decode(url), decode(decode(url)))
    val forms = (decodings ++ decodings.map(_.replace("\\", ""))).distinct
    def properties(pieces: Seq[String], whole: Boolean): Seq[Property] = pieces.map { piece =>
      val (name, value) = piece.span(_ != '=')
      Property(name, if (value.isEmpty) "true" else value.drop(1), "url: ", whole)
    }
    val parameters =
      properties(forms.flatMap(_.dropWhile(c => c != '?' && c != ';').split("[?&;]")).filter(_.nonEmpty), whole = true)
    val keys = parameters.map(_.key).toSet
    val others = properties(forms.flatMap(_.split("[?&;,()@/:{}]")).filter(_.indexOf('=') > 0), whole = false)
      .filterNot(piece => keys(piece.key))
    val resource = forms.exists(_.toLowerCase(Locale.ROOT).contains(Resource))
    (parameters ++ others ++ Option.when(resource)(Property(Resource, "", "url: ", whole = true))).distinct
  }

  private def decode(text: String): String = Try(URLDecoder.decode(text, UTF_8)).getOrElse(text)

  /** SQLite: opens a database from the class path, or from any URL. */
  private val Resource = ":resource:"

  private val Dangerous = DriverProperties.names("danger") ++ DriverProperties.names("switch")
  private val Switches = DriverProperties.names("switch")
  private val Off = Set("", "false", "0", "no", "off")
  private val WellKnown = DriverProperties.values("value")
  private val Files = DriverProperties.names("file")
  private val Harmless = DriverProperties.names("harmless")
}
