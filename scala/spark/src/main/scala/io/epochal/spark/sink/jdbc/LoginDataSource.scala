package io.epochal.spark.sink.jdbc

import java.io.PrintWriter
import java.sql.{Connection, Driver, SQLException, SQLFeatureNotSupportedException}
import java.util.Properties
import java.util.logging.Logger
import javax.sql.DataSource

import scala.util.Try

/** Logs in with one set of settings. It prints without secrets, and the pool above it never sees any.
  *
  * The driver is made by its class name: `DriverManager` would show it only to classes of the loader that it happened to
  * start with.
  *
  * @param defaults
  *   driver properties that the user's own override
  */
final private[jdbc] class LoginDataSource(settings: ConnectionSettings, driver: String, defaults: Map[String, String])
    extends DataSource {

  private val source: Driver = {
    val loaders = Seq(getClass.getClassLoader, Thread.currentThread.getContextClassLoader).filter(_ != null)
    loaders.iterator
      .flatMap(loader => Try(Class.forName(driver, true, loader)).toOption)
      .nextOption()
      .getOrElse(throw new ClassNotFoundException(driver))
      .getDeclaredConstructor()
      .newInstance()
      .asInstanceOf[Driver]
  }

  override def getConnection: Connection = {
    val properties = new Properties
    (defaults ++ settings.properties).foreach { case (name, value) => properties.setProperty(name, value) }
    settings.user.foreach(properties.setProperty("user", _))
    settings.password.foreach(properties.setProperty("password", _))
    Option(source.connect(settings.url, properties))
      .getOrElse(throw new SQLException(s"No suitable driver: $driver does not take ${settings.place}"))
  }

  override def getConnection(user: String, password: String): Connection = throw new SQLFeatureNotSupportedException

  override def toString: String = settings.place

  override def getLogWriter: PrintWriter = null
  override def setLogWriter(out: PrintWriter): Unit = ()
  override def getLoginTimeout: Int = 0
  override def setLoginTimeout(seconds: Int): Unit = ()
  override def getParentLogger: Logger = throw new SQLFeatureNotSupportedException
  override def isWrapperFor(kind: Class[_]): Boolean = false
  override def unwrap[T](kind: Class[T]): T = throw new SQLException(s"not a ${kind.getName}")
}
