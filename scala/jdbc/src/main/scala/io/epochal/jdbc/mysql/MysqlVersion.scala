package io.epochal.jdbc.mysql

import java.sql.Connection

import scala.math.Ordering.Implicits._

import io.epochal.core.error.EpochalException
import io.epochal.jdbc.option.JdbcOptions
import io.epochal.kit.database.Sql

/** A server's version, `8.0.12` or `10.11.14-MariaDB-0+deb12u2`. */
final private[mysql] case class MysqlVersion(text: String) {
  def isMariadb: Boolean = text.contains("MariaDB")

  /** Refuses servers that lack what the dialect's statements use: common table expressions, window functions. */
  def check: Either[EpochalException, Unit] = {
    val (product, oldest) = if (isMariadb) ("MariaDB", Seq(10, 6)) else ("MySQL", Seq(8, 0))
    val numbers = text.split("[^0-9]+").toSeq.take(2).flatMap(_.toIntOption)
    JdbcOptions.ensure(numbers.size < 2 || numbers >= oldest)(
      JdbcOptions.unsupported(
        s"write to $product $text",
        s"the oldest $product that it knows is ${oldest.mkString(".")}",
        "Upgrade the server."))
  }
}

private[mysql] object MysqlVersion {
  def of(connection: Connection): MysqlVersion =
    MysqlVersion(Sql.query(connection, "SELECT VERSION()")(_.getString(1)).head)
}
