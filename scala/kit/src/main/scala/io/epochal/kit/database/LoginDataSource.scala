package io.epochal.kit.database

import java.io.PrintWriter
import java.sql.{Connection, Driver, SQLException, SQLFeatureNotSupportedException, SQLNonTransientConnectionException}
import java.util.Properties
import java.util.concurrent.{CompletableFuture, ExecutionException, TimeUnit, TimeoutException}
import java.util.logging.Logger
import javax.sql.DataSource

import scala.util.Try

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.option.Nearest
import io.epochal.core.thread.DaemonThreads
import io.epochal.kit.access.{DriverAccess, Secret}

/** Logs in with one set of settings. `toString` contains no secrets, and the pool above it never sees any.
  *
  * The driver is instantiated by its class name: `DriverManager` shows it only to classes of the loader that registered
  * it.
  *
  * @param defaults
  *   driver properties that the user's own override
  */
private[epochal] class LoginDataSource(
    settings: ConnectionSettings,
    driver: Option[JdbcDriver],
    defaults: Map[String, String])
    extends DataSource {
  import LoginDataSource._

  private val source: Driver = settings.driver.map(JdbcDriver(_)).orElse(driver).fold(anyDriver)(load)

  /** No code of the class runs before it is known to be a driver. */
  private def load(driver: JdbcDriver): Driver = {
    val candidate = DriverAccess.current.loaders.iterator
      .flatMap(loader => Try(Class.forName(driver.className, false, loader)).toOption)
      .nextOption()
      .getOrElse(throw missing(s"the class ${driver.className} is not on the class path", driver.artifact))
    if (!classOf[Driver].isAssignableFrom(candidate))
      throw missing(s"the class ${driver.className} is no ${classOf[Driver].getName}", driver.artifact)
    try candidate.getDeclaredConstructor().newInstance().asInstanceOf[Driver]
    catch {
      case e: ReflectiveOperationException =>
        throw missing(s"the class ${driver.className} cannot be made (${e.getClass.getSimpleName})", driver.artifact)
      case e: LinkageError => throw unusable(driver.className, e)
    }
  }

  private def anyDriver: Driver = {
    val (errors, drivers) = DriverAccess.current.services(classOf[Driver]).distinct.partitionMap(identity)
    drivers.find(accepts).getOrElse {
      throw missing((s"no driver on the class path accepts this URL$suggestion" +: errors).mkString("; "), None)
    }
  }

  private def accepts(driver: Driver): Boolean =
    try driver.acceptsURL(settings.url)
    catch { case _: SQLException | _: LinkageError => false }

  /** The URL prefix that was probably meant, if no driver accepts the URL. */
  private def suggestion: String = DriverRisks.scheme(settings.url) match {
    case ""   => "; it must begin with 'jdbc:'"
    case name => Nearest.of(name, CommonSchemes).fold("")(near => s"; did you mean jdbc:$near:")
  }

  private def missing(reason: String, artifact: Option[String]): EpochalException =
    Conditions.DriverMissing(
      "url" -> settings.place,
      "reason" -> reason,
      "package" -> artifact.fold("")(name => s" $name:<version>"))

  override def getConnection: Connection = {
    val password = settings.password.map(_.read())
    try login(password)
    catch {
      case refused: SQLException if Option(refused.getSQLState).exists(_.startsWith(LoginRefused)) =>
        login(Some(renewed(password).getOrElse(throw refused)))
    }
  }

  private def login(password: Option[String]): Connection = {
    val properties = new Properties
    (defaults ++ settings.properties).foreach { case (name, value) => properties.setProperty(name, value) }
    settings.user.foreach(properties.setProperty("user", _))
    password.foreach(properties.setProperty("password", _))
    Option(connect(properties))
      .getOrElse(throw new SQLException(s"${source.getClass.getName} does not accept ${settings.place}", "08001"))
  }

  /** The new content of the password's file, which is written shortly after the database has the new password. */
  private def renewed(refused: Option[String]): Option[String] = {
    def newPassword(file: Secret.InFile) = {
      Thread.sleep(RenewalPause)
      file.readable.toOption.filterNot(refused.contains)
    }
    try
      settings.password.collect { case file: Secret.InFile =>
        Iterator.fill(RenewalChecks)(newPassword(file)).collectFirst { case Some(password) => password }
      }.flatten
    catch { case _: InterruptedException => throw interruption }
  }

  /** Drivers throw any kind of exception for a property that they do not understand. */
  private def connect(properties: Properties): Connection =
    try
      if (JdbcUrl.isOfFile(settings.url)) source.connect(settings.url, properties)
      else withLoginTimeout(source.connect(settings.url, properties))
    catch {
      case e: LinkageError => throw unusable(source.getClass.getName, e)
      case e: SQLException if e.getCause.isInstanceOf[LinkageError] || isWithoutLibrary(e.getCause) =>
        throw unusable(source.getClass.getName, e.getCause)
      case e: RuntimeException =>
        throw new SQLNonTransientConnectionException(s"${source.getClass.getName} failed: $e", "08001", e)
    }

  /** A server that accepts a connection and then stays silent, as a dead one behind a load balancer does, would keep the driver
    * waiting for ever. A connection that is opened too late is closed.
    */
  private def withLoginTimeout(open: => Connection): Connection = {
    val login = new CompletableFuture[Connection]
    new DaemonThreads("epochal-login")
      .newThread { () =>
        try {
          val connection = open
          if (!login.complete(connection)) connection.close()
        } catch { case error: Throwable => login.completeExceptionally(error): Unit }
      }
      .start()
    try login.get(limit, TimeUnit.MILLISECONDS)
    catch {
      case failure: ExecutionException => throw failure.getCause
      case late: TimeoutException =>
        login.completeExceptionally(late): Unit
        throw new SQLException(
          s"${settings.place} accepts connections, but has not answered a login for ${limit / 1000} s",
          "08001")
      case stop: InterruptedException =>
        login.completeExceptionally(stop): Unit
        throw interruption
    }
  }

  private def interruption: SQLException = {
    Thread.currentThread.interrupt()
    new SQLException("interrupted while logging in", "57014")
  }

  override def getConnection(user: String, password: String): Connection = throw new SQLFeatureNotSupportedException

  override def toString: String = settings.place

  override def getLogWriter: PrintWriter = null
  override def setLogWriter(out: PrintWriter): Unit = ()

  /** In seconds: how long a pool that closes waits for its thread that opens connections. With 0, Hikari logs a timeout whenever
    * that thread has not ended yet.
    */
  override def getLoginTimeout: Int = 1
  override def setLoginTimeout(seconds: Int): Unit = ()
  override def getParentLogger: Logger = throw new SQLFeatureNotSupportedException
  override def isWrapperFor(kind: Class[_]): Boolean = false
  override def unwrap[T](kind: Class[T]): T = throw new SQLException(s"not a ${kind.getName}")
}

private[epochal] object LoginDataSource {

  /** Milliseconds that a login may take; shorter in tests. */
  @volatile private[epochal] var limit = 60000L

  /** Class of the SQLSTATE "invalid authorization". */
  private val LoginRefused = "28"

  /** A file that has the refused password is read so often, after a pause in milliseconds each time. */
  private val RenewalChecks = 50
  private val RenewalPause = 100L

  /** A class, or a native library, that the driver needs is missing or cannot be loaded: no login of this JVM can succeed. */
  private def unusable(driver: String, error: Throwable): EpochalException = {
    val library = Option(System.getProperty("org.sqlite.tmpdir")).getOrElse(System.getProperty("java.io.tmpdir"))
    val advice =
      if (driver == "org.sqlite.JDBC")
        s"It unpacks its native library into $library. Start Spark with spark.driver.extraJavaOptions=-Dorg.sqlite.tmpdir=/var/tmp, or another directory that this user may write and that is mounted without noexec."
      else
        "Put the driver's jar and all jars that it needs, in matching releases, on Spark's class path (spark.jars or --packages), and start Spark again."
    Conditions.DriverUnusable.because(error)("driver" -> driver, "reason" -> error, "advice" -> advice)
  }

  /** SQLite's first failure; it throws an UnsatisfiedLinkError from then on. */
  private def isWithoutLibrary(cause: Throwable): Boolean =
    cause != null && cause.getClass.getName == "org.sqlite.NativeLibraryNotFoundException"

  private val CommonSchemes = Seq("postgresql", "mysql", "mariadb", "sqlite", "h2", "oracle", "sqlserver", "db2")
}
