package io.epochal.kit.spark

import scala.util.Try

import org.apache.spark.{SparkConf, SparkEnv}

/** The configuration that the driver was started with. No session can change it, neither a Spark Connect client nor `SET`. Any
  * thread may call it.
  */
private[epochal] object DriverConf {

  /** None also if Spark is not running. */
  def get(name: String): Option[String] = conf.flatMap(_.getOption(name))

  /** Sets the default of later sessions. Values that they have set themselves stay. */
  def set(name: String, value: String): Unit = conf.foreach(_.set(name, value))

  /** The server that runs other users' statements on this driver; None on a driver with one user.
    *
    * A server started by its main class or by Spark's plugin is recognised by those settings; one that a program started, by
    * its class's state.
    */
  def server: Option[String] =
    servers.collectFirst {
      case server if get("spark.plugins").exists(_.contains(server.plugin)) || mainClass.contains(server.main) =>
        server.name
      case server if server.isUp() => server.name
    }

  private def conf: Option[SparkConf] = Option(SparkEnv.get).map(_.conf)

  private val mainClass = System.getProperty("sun.java.command", "")

  private val servers = Seq(
    new Server(
      "Spark Connect",
      "org.apache.spark.sql.connect.SparkConnectPlugin",
      "org.apache.spark.sql.connect.service.SparkConnectServer",
      "org.apache.spark.sql.connect.service.SparkConnectService$",
      "server"
    ),
    new Server(
      "the Thrift server",
      "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2",
      "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2",
      "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2$",
      "listener"
    )
  )

  /** A kind of server.
    *
    * @param holder
    *   the Scala object that starts it
    * @param field
    *   of the holder; null until it is started
    */
  final private class Server(val name: String, val plugin: String, val main: String, holder: String, field: String) {

    private lazy val module: Option[AnyRef] =
      try Some(Class.forName(holder, true, classOf[SparkEnv].getClassLoader).getField("MODULE$").get(null))
      catch { case _: ReflectiveOperationException | _: LinkageError => None }

    def isUp(): Boolean =
      module.exists(one => Try(one.getClass.getMethod(field).invoke(one)).toOption.exists(_ != null))
  }
}
