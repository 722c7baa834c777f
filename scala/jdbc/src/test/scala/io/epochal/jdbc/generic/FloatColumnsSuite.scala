package io.epochal.jdbc.generic

import java.lang.reflect.{InvocationTargetException, Proxy}
import java.sql.{Connection, DatabaseMetaData, DriverManager, ResultSet, Types}

import scala.reflect.ClassTag
import scala.util.Using

import org.apache.spark.sql.types.{DoubleType, FloatType}
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.kit.database.TableName

/** Columns that a driver reports as FLOAT, of single or double precision. */
final class FloatColumnsSuite extends AnyFunSuite {

  /** Calls a method of `of`, unless `replace` has its result. */
  private def proxy[A <: AnyRef](of: A)(replace: PartialFunction[(String, Seq[AnyRef]), AnyRef])(implicit
      tag: ClassTag[A]): A =
    Proxy
      .newProxyInstance(
        getClass.getClassLoader,
        Array(tag.runtimeClass),
        (_, method, arguments) => {
          val values = Option(arguments).toSeq.flatten
          replace.applyOrElse[(String, Seq[AnyRef]), AnyRef](
            method.getName -> values,
            _ =>
              try method.invoke(of, values: _*)
              catch { case e: InvocationTargetException => throw e.getCause })
        }
      )
      .asInstanceOf[A]

  /** H2 with a driver that reports a column's size otherwise. */
  private def stores(size: Int, radix: Int): (Boolean, Boolean) =
    Using.resource(DriverManager.getConnection("jdbc:h2:mem:")) { connection =>
      Using.resource(connection.createStatement())(_.execute("CREATE TABLE T (A REAL)"))
      val metadata = connection.getMetaData
      def columns(arguments: Seq[AnyRef]) = arguments.map(_.asInstanceOf[String]) match {
        case Seq(catalog, schema, table, column) =>
          proxy[ResultSet](metadata.getColumns(catalog, schema, table, column)) {
            case ("getInt", Seq("DATA_TYPE"))      => Int.box(Types.FLOAT)
            case ("getInt", Seq("COLUMN_SIZE"))    => Int.box(size)
            case ("getInt", Seq("NUM_PREC_RADIX")) => Int.box(radix)
          }
        case other => fail(other.toString)
      }
      val reported = proxy[DatabaseMetaData](metadata) { case ("getColumns", arguments) => columns(arguments) }
      val found = GenericCatalog.find(
        proxy[Connection](connection) { case ("getMetaData", _) => reported },
        TableName.parse("T").get)
      val Seq(column) = found.get.columns
      (GenericType.takes(FloatType, column.columnType), GenericType.takes(DoubleType, column.columnType))
    }

  test("a double is only stored in a FLOAT that keeps 53 binary or 15 decimal digits") {
    Seq(24 -> 2, 7 -> 10, 9 -> 10, 0 -> 0, 24 -> 0).foreach { case (size, radix) =>
      assert(stores(size, radix) == (true, false), (size, radix))
    }
    Seq(53 -> 2, 64 -> 2, 15 -> 10, 17 -> 10, 53 -> 0).foreach { case (size, radix) =>
      assert(stores(size, radix) == (true, true), (size, radix))
    }
  }
}
