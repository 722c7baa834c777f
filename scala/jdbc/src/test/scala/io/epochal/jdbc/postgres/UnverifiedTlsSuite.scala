package io.epochal.jdbc.postgres

import org.apache.logging.log4j.Level
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.kit.database.ConnectionSettings
import io.epochal.support.LoggedLines

/** Which connections cause a warning: those to another host whose identity is not verified. */
final class UnverifiedTlsSuite extends AnyFunSuite {

  private def mode(url: String, properties: (String, String)*): Option[String] =
    PostgresTls.unverified(ConnectionSettings(url, None, None, None, properties.toMap))

  test("an unverified server on another host causes a warning that names the mode") {
    assert(mode("jdbc:postgresql://db/shop").contains("sslmode=prefer"))
    assert(mode("jdbc:postgresql://db:5433/shop?sslmode=require").contains("sslmode=require"))
    assert(mode("jdbc:postgresql://db/shop", "sslmode" -> "disable").contains("sslmode=disable"))
    assert(mode("jdbc:postgresql://localhost,db/shop").contains("sslmode=prefer"))
    assert(
      mode("jdbc:postgresql://db/shop?sslmode=verify-full&sslfactory=org.postgresql.ssl.NonValidatingFactory")
        .exists(_.contains("sslfactory")))
  }

  test("a verified server, or one on this host, causes no warning") {
    Seq(
      "jdbc:postgresql://db/shop?sslmode=verify-full",
      "jdbc:postgresql://db/shop?sslmode=verify-ca",
      "jdbc:postgresql://db/shop?ssl=true",
      "jdbc:postgresql://db/shop?gssEncMode=require",
      "jdbc:postgresql:shop",
      "jdbc:postgresql://localhost:5433/shop",
      "jdbc:postgresql://127.0.0.1/shop",
      "jdbc:postgresql://[::1]:5433/shop"
    ).foreach(url => assert(mode(url).isEmpty, url))
    assert(mode("jdbc:postgresql://db/shop", "sslmode" -> "verify-full").isEmpty)
    assert(mode("jdbc:postgresql://db/shop?sslmode=disable", "sslmode" -> "verify-full").contains("sslmode=disable"))
  }

  test("the warning appears once per place, without secrets") {
    val url = "jdbc:postgresql://once.example/shop?user=me&password=s3cret-word"
    val said = LoggedLines
      .of(Level.WARN)((1 to 3).foreach(_ => PostgresTls.warn(ConnectionSettings(url, None, None, None, Map.empty))))
      .filter(_.contains("is not verified"))
    assert(said.size == 1 && said.head.contains("once.example") && said.head.contains("sslmode=verify-full"))
    assert(!said.head.contains("s3cret"))
  }
}
