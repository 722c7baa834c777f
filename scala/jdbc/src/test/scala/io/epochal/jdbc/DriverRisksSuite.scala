package io.epochal.jdbc

import org.scalatest.funsuite.AnyFunSuite

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.kit.access.DriverAccess
import io.epochal.kit.database.{ConnectionSettings, DriverRisks, LoginDataSource}

final class DriverRisksSuite extends AnyFunSuite {

  private val postgres = "jdbc:postgresql://db/shop"
  private val alone = new DriverAccess(_ => None, None)
  private val shared = new DriverAccess(_ => None, Some("a server"))
  private def allowing(settings: (String, String)*) = new DriverAccess(settings.toMap.get, Some("a server"))

  private def settings(url: String, driver: Option[String], properties: (String, String)*): ConnectionSettings =
    ConnectionSettings(url, Some("me"), None, driver, properties.toMap)

  private def check(access: DriverAccess, url: String, properties: (String, String)*): ConnectionSettings =
    DriverRisks.check(settings(url, None, properties: _*), access)

  private def refused(body: => Any): EpochalException = {
    val error = intercept[EpochalException](body)
    assert(error.condition == Conditions.OptionNotAllowed, error.getMessage)
    error
  }

  test("properties that run code or read files are refused on every driver, in every form that a driver parses") {
    Seq(
      s"$postgres?socketFactory=a.B",
      s"$postgres?ssl=true&SOCKETFACTORYARG=x",
      s"$postgres?sslfactory=org.springframework.context.support.ClassPathXmlApplicationContext&sslfactoryarg=http://x",
      s"$postgres?socket%46actory=a.B",
      s"$postgres?socket%2546actory=a.B",
      s"$postgres?authenticationPluginClassName=a.B",
      s"$postgres?loggerLevel=DEBUG&loggerFile=/x",
      "jdbc:mysql://db/shop?autoDeserialize=true",
      "jdbc:mysql://db/shop?autoDeserialize=yes",
      "jdbc:mysql://db/shop?useSSL=true&autoDeserialize",
      "jdbc:mysql://(host=db,port=1,allowLoadLocalInfile=true)/shop",
      "jdbc:mysql://address=(host=db)(queryInterceptors=a.B)/shop",
      "jdbc:mysql://(host=db,%61utoDeserialize=true)/shop",
      "jdbc:mariadb://db/shop?allowLocalInfile=true",
      "jdbc:mariadb://db/shop?credentialType=ENV",
      "jdbc:h2:mem:x;INIT=RUNSCRIPT FROM 'http://x'",
      "jdbc:h2:mem:x;IN\\IT=RUNSCRIPT FROM 'http://x'",
      "jdbc:h2:mem:x;\u0131n\u0131t=RUNSCRIPT FROM 'http://x'",
      "jdbc:h2:mem:x; Init =RUNSCRIPT FROM 'http://x'",
      "jdbc:sqlite:x.db?enable_load_extension=true",
      "jdbc:sqlite:file:x.db?vfs=other",
      "jdbc:SQLite::resource:http://x/x.db",
      "jdbc:derby:x;createFrom=/etc",
      "jdbc:db2://db:1/x:clientRerouteServerListJNDIName=ldap://x/y;",
      "jdbc:sqlserver://db;trustManagerClass=a.B"
    ).foreach(url => refused(check(alone, url)))
    Seq("socketFactory", "SSLPASSWORDCALLBACK", "INIT", "queryInterceptors", "enable_load_extension")
      .foreach(name => refused(check(alone, postgres, name -> "true")))
  }

  test("ordinary settings are unchanged on a driver of one user") {
    Seq(
      s"$postgres?sslmode=verify-full&sslrootcert=/etc/ca.pem&sslcert=/c&sslkey=/k&service=x",
      s"$postgres?sslfactory=org.postgresql.ssl.DefaultJavaSSLFactory",
      "jdbc:mysql://db/shop?allowLoadLocalInfile=false&useSSL=true&trustCertificateKeyStoreUrl=file:/x",
      "jdbc:mariadb://db/shop?serverSslCert=/etc/ca.pem",
      "jdbc:mysql://init/logger",
      "jdbc:h2:/data/x;DB_CLOSE_DELAY=-1;MODE=PostgreSQL",
      "jdbc:sqlite:/data/x.db?foreign_keys=on",
      "jdbc:snowflake://x?authenticator=externalbrowser",
      "jdbc:oracle:thin:@db:1521:shop"
    ).foreach(url => assert(check(alone, url).url == url))
    val _ = check(alone, postgres, "customSetting" -> "x", "sslrootcert" -> "/etc/ca.pem")
  }

  test("the owner can allow a property, for any value or for one") {
    def listing(list: String): DriverAccess =
      new DriverAccess(Map(DriverAccess.AllowedProperties -> list).get, None)
    check(listing("INIT, socketFactory=a.B"), s"$postgres?socketFactory=a.B&init=x"): Unit
    refused(check(listing("socketFactory=a.B"), s"$postgres?socketFactory=a.C"))
  }

  test("a shared driver accepts only properties that are known to be harmless, and those that the owner allows") {
    Seq(
      s"$postgres?sslmode=require&currentSchema=a,b&options=-c%20statement_timeout=5",
      "jdbc:mysql://db/shop?useSSL=true&serverTimezone=UTC",
      "jdbc:mysql://address=(host=db)(port=3306)/shop").foreach(url => check(shared, url): Unit)
    Seq("service", "unknown", "sslfactory", "jaasApplicationName").foreach { name =>
      refused(check(shared, s"$postgres?$name=x"))
      refused(check(shared, postgres, name -> "x"))
      check(allowing(DriverAccess.AllowedProperties -> name), postgres, name -> "x"): Unit
    }
    refused(check(shared, s"$postgres?socketFactory=com.google.cloud.sql.postgres.SocketFactory"))
  }

  test("a shared driver accepts only certificate files that the owner allows") {
    val mine = allowing(DriverAccess.AllowedFiles -> "/etc/ssl")
    check(mine, s"$postgres?sslrootcert=/etc/ssl/ca.pem"): Unit
    refused(check(mine, s"$postgres?sslrootcert=/etc/passwd"))
    refused(check(mine, s"$postgres?sslrootcert=/etc/ssl,/../../passwd"))
    refused(check(mine, s"$postgres?sslrootcert=%2Fetc%2Fpasswd"))
    refused(check(mine, "jdbc:mysql://(host=db,serverSslCert=/etc/ssl/ca.pem)/x"))
    refused(check(mine, postgres, "sslkey" -> "/root/key"))
    refused(check(shared, "jdbc:mariadb://db/x?serverSslCert=/etc/passwd"))
  }

  test("a shared driver accepts SQLite files only in allowed directories, in any form of URL") {
    val mine = allowing(DriverAccess.AllowedFiles -> "/data")
    Seq("/data/x.db", "/data/x.db?foreign_keys=on", "file:/data/x.db?mode=rwc", "file:///data/x.db")
      .foreach(rest => check(mine, s"jdbc:sqlite:$rest"): Unit)
    Seq(
      "/etc/passwd",
      "/data/../etc/passwd",
      "relative.db",
      "file:/etc/x",
      "file:%2Fetc/x",
      "file://data/etc/x",
      "file:/etc/passwd#/../../data/x",
      "file:/data/%2e%2e/etc/x").foreach(rest => refused(check(mine, s"jdbc:sqlite:$rest")))
    refused(check(mine, "jdbc:SQLITE:/etc/passwd"))
  }

  test("a shared driver accepts only allowed driver classes, and those of the known databases") {
    def request(access: DriverAccess, url: String, driver: String): Unit =
      DriverRisks.check(settings(url, Some(driver)), access): Unit
    request(shared, postgres, "org.postgresql.Driver")
    refused(request(shared, postgres, "org.h2.Driver"))
    refused(check(shared, "jdbc:h2:mem:x"))
    refused(request(shared, "jdbc:h2:mem:x", "org.h2.Driver"))
    request(allowing(DriverAccess.AllowedClasses -> "org.h2.Driver"), "jdbc:h2:mem:x", "org.h2.Driver")
  }

  test("without a password the driver does not look for one in a file") {
    assert(check(shared, postgres).password.map(_.read()).contains(""))
    assert(check(alone, postgres).password.isEmpty)
    assert(check(shared, postgres, "password" -> "x").password.isEmpty)
    assert(check(shared, "jdbc:mysql://db/x").password.isEmpty)
  }

  test("a class that is not a driver is not initialised") {
    val error = intercept[EpochalException](
      new LoginDataSource(settings(postgres, Some("io.epochal.jdbc.NoDriver$")), None, Map.empty))
    assert(error.condition == Conditions.DriverMissing && error.getMessage.contains("is no java.sql.Driver"))
    assert(!NoDriverWitness.ran)
  }
}

object NoDriverWitness {
  @volatile var ran = false
}

/** Records when its class is initialised. */
object NoDriver {
  NoDriverWitness.ran = true
}
