package io.epochal.jdbc

import java.sql.SQLException

import org.apache.spark.sql.types.StructType
import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.epochal.core.error.Conditions
import io.epochal.jdbc.database.Database
import io.epochal.jdbc.dialect.Dialects
import io.epochal.jdbc.option.JdbcOptions
import io.epochal.jdbc.table.TableCheck
import io.epochal.kit.database.{ConnectionSettings, JdbcUrl}

/** The shown form of URLs in descriptions, errors and logs. */
final class JdbcUrlSuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  /** URLs with `PW` where a password can occur, and the form shown. */
  private val styles = Seq(
    "jdbc:postgresql://db:5432/shop?user=me&password=PW" -> "jdbc:postgresql://db:5432/shop",
    "jdbc:postgresql://me:PW@db:5432/shop" -> "jdbc:postgresql://db:5432/shop",
    "jdbc:postgresql://one:1,two:2/shop?password=PW&targetServerType=primary" -> "jdbc:postgresql://one:1,two:2/shop",
    "jdbc:postgresql://[::1]:5432/shop?password=PW" -> "jdbc:postgresql://[::1]:5432/shop",
    "jdbc:postgresql:shop?password=PW" -> "jdbc:postgresql:shop",
    "jdbc:mysql://me:PW@db/shop?useSSL=true" -> "jdbc:mysql://db/shop",
    "jdbc:mysql:loadbalance://one,two/shop?password=PW" -> "jdbc:mysql:loadbalance://one,two/shop",
    "jdbc:mysql://(host=db,port=1,user=me,password=PW)/shop" -> "jdbc:mysql:***",
    "jdbc:mysql://address=(host=db)(user=me)(password=PW)/shop" -> "jdbc:mysql:***",
    "jdbc:mariadb://db:3306/shop?user=me&password=PW" -> "jdbc:mariadb://db:3306/shop",
    "jdbc:sqlserver://db:1433;databaseName=shop;user=sa;password=PW" -> "jdbc:sqlserver://db:1433;databaseName=shop",
    "jdbc:sqlserver://db\\SQL1;password={PW};databaseName=shop" -> "jdbc:sqlserver://db\\SQL1;databaseName=shop",
    "jdbc:sqlserver://;serverName=db;databaseName=shop;password=PW" -> "jdbc:sqlserver://;serverName=db;databaseName=shop",
    "jdbc:sqlserver://db;accessToken=PW;encrypt=true" -> "jdbc:sqlserver://db",
    "jdbc:jtds:sqlserver://db:1433/shop;user=sa;password=PW" -> "jdbc:jtds:sqlserver://db:1433/shop",
    "jdbc:h2:mem:shop;USER=sa;PASSWORD=PW" -> "jdbc:h2:mem:shop",
    "jdbc:h2:tcp://db:9092/~/shop;PASSWORD=PW" -> "jdbc:h2:tcp://db:9092/~/shop",
    "jdbc:h2:/data/my shop@home;CIPHER=AES;PASSWORD=PW" -> "jdbc:h2:/data/my shop@home",
    "jdbc:hsqldb:hsql://db/shop;user=SA;password=PW" -> "jdbc:hsqldb:hsql://db/shop",
    "jdbc:derby://db:1527/shop;user=me;password=PW" -> "jdbc:derby://db:1527/shop",
    "jdbc:sqlite:/data/shop.db?password=PW" -> "jdbc:sqlite:/data/shop.db",
    "jdbc:db2://db:50000/shop:user=me;password=PW;" -> "jdbc:db2://db:50000/shop",
    "jdbc:informix-sqli://db:1533/shop:INFORMIXSERVER=one;user=me;password=PW" -> "jdbc:informix-sqli://db:1533/shop",
    "jdbc:oracle:thin:scott/PW@db:1521:shop" -> "jdbc:oracle:thin:@db:1521:shop",
    "jdbc:oracle:thin:scott/PW@//db:1521/shop" -> "jdbc:oracle:thin:@//db:1521/shop",
    "jdbc:oracle:thin:scott/\"PW\"@db:1521/shop" -> "jdbc:oracle:thin:@db:1521/shop",
    "jdbc:oracle:oci:scott/PW@shop" -> "jdbc:oracle:oci:@shop",
    "jdbc:oracle:thin:@db:1521/shop?password=PW" -> "jdbc:oracle:thin:@db:1521/shop",
    "jdbc:oracle:thin:@(DESCRIPTION=(ADDRESS=(HOST=db))(PASSWORD=PW))" -> "jdbc:oracle:thin:@***",
    "jdbc:teradata://db/DATABASE=shop,USER=me,PASSWORD=PW" -> "jdbc:teradata://db/***",
    "jdbc:snowflake://shop.example.com/?user=me&password=PW" -> "jdbc:snowflake://shop.example.com/",
    "jdbc:unknown:me:PW" -> "jdbc:unknown:***",
    "postgresql://me:PW@db/shop" -> "postgresql://db/shop",
    "jbdc:postgresql://me:PW@db:5432/shop?x=1" -> "jbdc:postgresql://db:5432/shop",
    "jdbc:postgresql//db:5432/shop?password=PW" -> "jdbc:postgresql//db:5432/shop",
    "jdbc:postgresql:/db:5432/shop?password=PW" -> "jdbc:postgresql:/db:5432/shop",
    "db:5432/shop?user=me&password=PW" -> "db:5432/shop",
    "/data/shop.db?password=PW" -> "/data/shop.db",
    "me/PW@db/shop" -> "***",
    "me:PW@db/shop" -> "***"
  )

  test("every style of URL shows its place, and nothing that may be secret") {
    styles.foreach { case (url, shown) => assert(JdbcUrl.shown(url.replace("PW", "s3cret")) == shown, url) }
  }

  test("a URL of another kind is refused with the JDBC URL that it means, without its login") {
    Seq(
      "postgresql://me:PW@db:5432/shop?sslmode=require" -> "jdbc:postgresql://db:5432/shop",
      "postgres://db/shop" -> "jdbc:postgresql://db/shop",
      "postgresql+psycopg2://me:PW@db/shop" -> "jdbc:postgresql://db/shop",
      "jbdc:mysql://db/shop" -> "jdbc:mysql://db/shop",
      "sqlite:///comments.db" -> "jdbc:sqlite:comments.db",
      "db:5432/shop" -> "jdbc:sqlite:comments.db"
    ).foreach { case (url, meant) =>
      val options = JdbcOptions.read(Map("url" -> url, "dbtable" -> "t")).fold(throw _, identity)
      val error = JdbcProvider.dialect(options).swap.getOrElse(fail(url))
      assert(error.condition == Conditions.OptionInvalid && error.getMessage.endsWith(s"like this: url=$meant."), error)
      assert(!error.getMessage.contains("PW"))
    }
  }

  test("no part of a password is shown, whichever characters it contains") {
    val word = Gen.oneOf("hunter", "zebra9", "Qwertz")
    val between =
      Gen.oneOf("@", "/", ":", ";", "?", "#", "&", "=", ",", "}", "{", "//", " ", "(", ")", "\"", "%40", ";user=")
    val password = Gen.zip(word, between, word, between, word).map { case (a, b, c, d, e) => a + b + c + d + e }
    forAll(Gen.oneOf(styles), password, minSuccessful(5000)) { case ((style, _), text) =>
      val shown = JdbcUrl.shown(style.replace("PW", text))
      assert(!Seq("hunter", "zebra9", "Qwertz").exists(shown.contains), style.replace("PW", text))
    }
  }

  test("a driver's errors that repeat the URL, or parts of it, are masked") {
    styles.foreach { case (style, shown) =>
      val url = style.replace("PW", "s3cret;passw0rd")
      val settings = ConnectionSettings(url, None, None, None, Map.empty)
      Seq(s"No suitable driver for $url", "cannot log in with s3cret;passw0rd", s"bad: '$url', again $url").foreach {
        said =>
          val redacted = settings.redact(new SQLException(said, "08001"))
          assert(!redacted.getMessage.contains("s3cret") && !redacted.getMessage.contains("passw0rd"), said)
      }
      assert(settings.toString == settings.place && !settings.place.contains("s3cret"), shown)
    }
  }

  test("a sink's description and its errors contain no password from the URL") {
    val url = "jdbc:h2:mem:shown;USER=sa;PASSWORD={s3cret"
    val options = JdbcOptions.read(Map("url" -> url, "dbtable" -> "nosuch")).fold(throw _, identity)
    val database = new Database(Dialects.of(url).get, options, () => ())
    assert(database.place == "jdbc:h2:mem:shown")
    val missing = new TableCheck(database.dialect, options, new StructType()).missing(None)
    assert(missing.condition == Conditions.TableMissing && !missing.getMessage.contains("s3cret"))
    assert(!options.toString.contains("s3cret"))
  }
}
