package io.epochal.jdbc.option

import java.net.URLDecoder
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.InvalidPathException
import java.util.Locale

import scala.util.Try

import io.epochal.kit.access.{DriverAccess, Secret}

/** Refuses what a JDBC driver could be told to do beside connecting: load a class, read a file, run a script.
  *
  * Properties that can do so ([[Dangerous]]) are refused on every Spark driver, unless its owner allows them. Where several
  * share the Spark driver, it is the other way round: only [[Harmless]] properties are taken, and those that the owner
  * allows; files (certificates, an SQLite database) and driver classes must be among what the owner allows.
  *
  * Drivers read properties out of URLs in ways of their own. So a name counts wherever a piece of the URL, between any of the
  * separators, has the form `name=value`; in any case, percent-encoded or with backslashes.
  */
private[jdbc] object DriverRisks {

  /** @return
    *   the settings, with what keeps the driver from files that it looks for by itself
    * @throws EpochalException
    *   OPTION_NOT_ALLOWED
    */
  def check(settings: ConnectionSettings, access: DriverAccess): ConnectionSettings = {
    val found = settings.properties.toSeq.map { case (name, value) =>
      Property(name, value, "connection.", whole = true)
    } ++
      ofUrl(settings.url)
    found.foreach(check(_, access))
    if (access.isShared) {
      checkDriver(settings, access)
      sqliteFile(settings.url).foreach(checkFile("url", _, access))
    }
    withoutPasswordFile(settings, access)
  }

  /** @param whole
    *   whether its value is known, and is not cut at a character that another driver takes for a separator
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

  /** Of the databases that have a dialect it is known; any other one is the owner's choice. */
  private def checkDriver(settings: ConnectionSettings, access: DriverAccess): Unit = {
    val usual = UsualDrivers.get(scheme(settings.url))
    settings.driver match {
      case Some(driver)          => if (!usual.contains(driver)) access.classNamed("driver", driver)
      case None if usual.isEmpty => access.classNamed(s"url=${settings.place} without driver", "the.class.of.Driver")
      case None                  => ()
    }
  }

  /** PgJDBC looks for one in the user's home, and sends what it finds to the server that the URL names. A password in the
    * URL counts more than this one.
    */
  private def withoutPasswordFile(settings: ConnectionSettings, access: DriverAccess): ConnectionSettings =
    if (access.isShared && settings.password.isEmpty && scheme(settings.url) == "postgresql" &&
      !settings.properties.contains("password"))
      settings.copy(password = Some(Secret.Given("")))
    else settings

  private val Scheme = "(?is)jdbc:([a-z0-9_.-]+):.*".r

  private def scheme(url: String): String = url.trim match {
    case Scheme(name) => name.toLowerCase(Locale.ROOT)
    case _            => ""
  }

  /** The database's file, as SQLite reads the URL; what is held in memory has none. */
  private def sqliteFile(url: String): Option[String] = Option
    .when(scheme(url) == "sqlite")(url.trim.drop("jdbc:sqlite:".length).takeWhile(_ != '?'))
    .map { path =>
      if (path.startsWith("file:"))
        decoded(path.stripPrefix("file:").takeWhile(_ != '#').replaceFirst("^//[^/]*", "").replace("+", "%2B"))
      else path
    }
    .filterNot(path => path.isEmpty || path.equalsIgnoreCase(":memory:"))

  /** Parameters behind `?` or `;`, with their values; and whatever else may be one for some driver. */
  private def ofUrl(url: String): Seq[Property] = {
    val decodings = Seq(url, decoded(url), decoded(decoded(url)))
    val forms = (decodings ++ decodings.map(_.replace("\\", ""))).distinct
    val parameters = forms
      .flatMap(_.dropWhile(c => c != '?' && c != ';').split("[?&;]"))
      .filter(_.nonEmpty)
      .map { piece =>
        val (name, value) = piece.span(_ != '=')
        Property(name, if (value.isEmpty) "true" else value.drop(1), "url: ", whole = true)
      }
    val known = parameters.map(_.key).toSet
    val others = forms
      .flatMap(_.split("[?&;,()@/:{}]"))
      .filter(_.indexOf('=') > 0)
      .map { piece =>
        val (name, value) = piece.span(_ != '=')
        Property(name, value.drop(1), "url: ", whole = false)
      }
      .filterNot(piece => known(piece.key))
    val resource = forms.exists(_.toLowerCase(Locale.ROOT).contains(Resource))
    (parameters ++ others ++ Option.when(resource)(Property(Resource, "", "url: ", whole = true))).distinct
  }

  private def decoded(text: String): String = Try(URLDecoder.decode(text, UTF_8)).getOrElse(text)

  private val UsualDrivers = Map(
    "postgresql" -> "org.postgresql.Driver",
    "sqlite" -> "org.sqlite.JDBC",
    "mariadb" -> "org.mariadb.jdbc.Driver",
    "mysql" -> "com.mysql.cj.jdbc.Driver")

  /** SQLite: a database out of the class path, or from anywhere that a URL leads to. */
  private val Resource = ":resource:"

  private def words(text: String): Set[String] = text.trim.split("\\s+").toSet

  /** Properties of drivers that name a class or a script, or let the server or a statement have files. */
  private val Dangerous: Set[String] = Set(Resource) ++
    // PostgreSQL and its kin
    words("""socketfactory socketfactoryarg sslfactory sslfactoryarg sslhostnameverifier sslpasswordcallback
      authenticationpluginclassname loggerfile loggerlevel xmlfactoryfactory sspiserviceclass plugin_name""") ++
    // MySQL
    words("""autodeserialize allowlocalinfile allowloadlocalinfile allowurlinlocalinfile allowloadlocalinfileinpath
      queryinterceptors statementinterceptors connectionlifecycleinterceptors exceptioninterceptors
      detectcustomcollations propertiestransform authenticationplugins clientinfoprovider loadbalancestrategy
      ha.loadbalancestrategy loadbalanceexceptionchecker ha.loadbalanceexceptionchecker logger profilereventhandler
      queryinfocachefactory parseinfocachefactory serverconfigcachefactory authenticationopenidconnectcallbackhandler
      authenticationwebauthncallbackhandler authenticationfidocallbackhandler""") ++
    // MariaDB
    words("credentialtype tlssockettype codecs") ++
    // SQLite
    words("enable_load_extension load_extension vfs temp_store_directory date_class") ++
    // H2, HSQLDB, Derby
    words("""init trace_level_file database_event_listener java_object_serializer auto_server authenticator authrealm
      textdb.allow_full_path createfrom restorefrom rollforwardrecoveryfrom logdevice tracefile tracedirectory""") ++
    // Db2, SQL Server, Oracle
    words("""clientrerouteserverlistjndiname socketfactoryclass socketfactoryconstructorarg trustmanagerclass
      trustmanagerconstructorarg accesstokencallbackclass oracle.jdbc.config.file""")

  /** Those that are a switch, and do nothing when it is off. */
  private val Switches: Set[String] = words(
    """autodeserialize allowlocalinfile allowloadlocalinfile allowurlinlocalinfile
    detectcustomcollations enable_load_extension auto_server textdb.allow_full_path trace_level_file""")
  private val Off = Set("", "false", "0", "no", "off")

  /** Values that are in use, and do no more than their documentation says. */
  private val WellKnown: Map[String, Set[String]] = Map(
    "sslfactory" -> words("""org.postgresql.ssl.LibPQFactory org.postgresql.ssl.DefaultJavaSSLFactory
      org.postgresql.ssl.NonValidatingFactory"""),
    "sslhostnameverifier" -> Set("org.postgresql.ssl.PGjdbcHostnameVerifier"),
    "socketfactory" -> words("""com.google.cloud.sql.postgres.SocketFactory com.google.cloud.sql.mysql.SocketFactory
      com.google.cloud.sql.mariadb.SocketFactory"""),
    "loggerlevel" -> Set("OFF"),
    "logger" -> words("Slf4JLogger StandardLogger Jdk14Logger NullLogger com.mysql.cj.log.Slf4JLogger"),
    "loadbalancestrategy" -> words("random bestResponseTime serverAffinity"),
    "ha.loadbalancestrategy" -> words("random bestResponseTime serverAffinity"),
    "authenticator" -> words("snowflake externalbrowser oauth snowflake_jwt username_password_mfa")
  )

  /** Properties whose value is a file. */
  private val Files: Set[String] =
    words("sslrootcert sslcert sslkey serversslcert serverrsapublickeyfile keystore truststore")

  /** Properties that only say how to talk to the server. */
  private val Harmless: Set[String] =
    words("""user username password database databasename schema currentschema search_path applicationname host port
      connecttimeout sockettimeout logintimeout cancelsignaltimeout tcpkeepalive tcpnodelay receivebuffersize
      sendbuffersize localsocketaddress""") ++
      // PostgreSQL
      words(
        """pghost pgport pgdbname ssl sslmode sslpassword sslnegotiation sslresponsetimeout channelbinding gssencmode
        targetservertype hostrecheckseconds loadbalancehosts preparethreshold preparedstatementcachequeries
        preparedstatementcachesizemib preferquerymode binarytransfer defaultrowfetchsize
        rewritebatchedinserts stringtype options readonly autosave assumeminserverversion adaptivefetch
        adaptivefetchminimum adaptivefetchmaximum maxresultbuffer maxsendbuffersize logservererrordetail
        logunclosedconnections""") ++
      // MySQL and MariaDB
      words("""usessl requiressl verifyservercertificate enabledtlsprotocols tlsversions tlsciphersuites
        enabledsslprotocolsuites enabledsslciphersuites allowpublickeyretrieval keystorepassword truststorepassword
        servertimezone connectiontimezone timezone forceconnectiontimezonetosession preserveinstants characterencoding
        useunicode connectioncollation rewritebatchedstatements usecompression useserverprepstmts cacheprepstmts
        prepstmtcachesize prepstmtcachesqllimit usecursorfetch useaffectedrows tinyint1isbit yearisdatetype
        zerodatetimebehavior jdbccomplianttruncation sessionvariables
        transactionisolation usebulkstmts usebulkstmtsforinserts maxallowedpacket usemysqlmetadata
        nulldatabasemeanscurrent tcpkeepidle tcpkeepcount tcpkeepinterval autoreconnect failoverreadonly maxreconnects
        address protocol type""") ++
      // SQLite
      words("""mode cache journal_mode synchronous busy_timeout foreign_keys cache_size mmap_size page_size locking_mode
        temp_store encoding transaction_mode journal_size_limit recursive_triggers secure_delete auto_vacuum
        read_uncommitted case_sensitive_like max_page_count user_version application_id""") ++
      // SQL Server and others
      words("""servername portnumber instancename encrypt trustservercertificate hostnameincertificate
        db_close_delay lock_timeout database_to_lower database_to_upper case_insensitive_identifiers ifexists cipher""")
}
