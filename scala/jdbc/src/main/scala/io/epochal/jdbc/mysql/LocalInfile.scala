package io.epochal.jdbc.mysql

import java.io.InputStream
import java.lang.reflect.Method
import java.sql.{Connection, Statement}
import java.util.Locale

import scala.util.{Try, Using}

import io.epochal.kit.database.{ConnectionSettings, DriverRisks}

/** LOAD DATA LOCAL INFILE from a stream, by the drivers of MariaDB and MySQL.
  *
  * With such a connection, a server can answer ''any'' statement by asking for a file of the client, of whatever name. It never gets
  * one:
  *
  *   - MySQL's driver would read it. So outside of `execute` the connection allows only files in a directory that cannot exist; in
  *     it, the driver takes the stream instead of any file, also when the server asks again.
  *   - MariaDB's driver opens a file only if the statement has the words LOAD DATA LOCAL INFILE and that name: before 3.5.11
  *     anywhere in it. Ours has a stream, which the driver takes instead; [[MysqlDialect.quote]] refuses names with which a
  *     server could put these words into another statement.
  */
private[mysql] object LocalInfile {

  private val Setter = "setLocalInfileInputStream"

  /** No directory can be below a device. */
  private val Nowhere = "/dev/null/epochal"

  val Variables: Seq[String] =
    Seq("local_infile", "wsrep_on", "wsrep_load_data_splitting", "innodb_autoinc_lock_mode")

  /** Driver properties that make it possible, unless the user has set one of them. */
  def properties(settings: ConnectionSettings): Map[String, String] = {
    val set = (settings.properties.keys.toSeq :+ settings.url).map(_.toLowerCase(Locale.ROOT))
    if (set.exists(_.contains("localinfile"))) Map("allowLocalInfile" -> "false")
    else if (DriverRisks.scheme(settings.url) == "mariadb") Map("allowLocalInfile" -> "true")
    else Map("allowLocalInfile" -> "false", "allowLoadLocalInfileInPath" -> Nowhere)
  }

  /** Whether a text from the server could make a driver believe that a statement with it asks for a file. */
  def isIn(text: String): Boolean = Words.findFirstIn(text).isDefined
  private val Words = "(?i)local\\s+infile".r

  /** Why the connection cannot do it; None if it can.
    *
    * @param variables
    *   those of [[Variables]] that the server has
    * @param increments
    *   the table has an AUTO_INCREMENT column
    */
  def refusal(connection: Connection, variables: Map[String, String], increments: Boolean): Option[String] = {
    def isOn(name: String): Boolean = variables.get(name).exists(value => value.equalsIgnoreCase("ON") || value == "1")
    if (!isOn("local_infile")) Some("local_infile is OFF on the server")
    // The cluster would commit after every 10,000 rows.
    else if (isOn("wsrep_on") && isOn("wsrep_load_data_splitting"))
      Some("wsrep_load_data_splitting is ON in the cluster")
    // All other writers of the table would wait for the end of the statement, whose number of rows the server does not know.
    else if (increments && !variables.get("innodb_autoinc_lock_mode").contains("2"))
      Some("innodb_autoinc_lock_mode is not 2, and the table has an AUTO_INCREMENT column")
    else
      Using.resource(connection.createStatement()) { statement =>
        Option.when(setter(statement).isEmpty)(s"the driver has no $Setter")
      }
  }

  private def delegate(statement: Statement): AnyRef = statement.unwrap(classOf[Statement])

  private def setter(statement: Statement): Option[Method] =
    Try(delegate(statement).getClass.getMethod(Setter, classOf[InputStream])).toOption

  /** Runs the statement, which gets `lines` as its file. Returns the number of rows that the server stored. */
  def execute(connection: Connection, sql: String, lines: InputStream): Long =
    Using.resource(connection.createStatement()) { statement =>
      val (driver, set, allow) = (delegate(statement), setter(statement).get, switch(connection))
      set.invoke(driver, lines): Unit
      // On a lost connection the drivers refuse this: the error that lost it counts.
      Using.resource[AutoCloseable, Long] { () =>
        allow(false)
        set.invoke(driver, null): Unit
      } { _ =>
        allow(true)
        statement.executeLargeUpdate(sql)
      }
    }

  /** Sets `allowLoadLocalInfile` of an open connection, if the driver is MySQL's. */
  private def switch(connection: Connection): Boolean => Unit = {
    val driverConnection = connection.unwrap(classOf[Connection])
    Try(driverConnection.getClass.getMethod("getPropertySet").invoke(driverConnection)).fold(
      _ => _ => (),
      properties => {
        val loader = properties.getClass.getClassLoader
        def of(name: String): Class[_] = Class.forName(s"com.mysql.cj.conf.$name", false, loader)
        val property =
          of("PropertySet").getMethod("getProperty", classOf[String]).invoke(properties, "allowLoadLocalInfile")
        val set = of("RuntimeProperty").getMethod("setValue", classOf[Object])
        value => set.invoke(property, Boolean.box(value)): Unit
      }
    )
  }
}
