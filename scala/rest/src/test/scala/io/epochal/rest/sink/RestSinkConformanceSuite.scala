package io.epochal.rest.sink

import java.{lang, util}

import scala.jdk.CollectionConverters._

import io.epochal.support.QueryConformance
import io.epochal.testkit.{Conformance, FormatSink}

/** The sink in queries that are stopped and killed, with an API that honours idempotency keys. */
final class RestSinkConformanceSuite
    extends QueryConformance(Conformance.sink("epochal-rest", () => new RestFormatSink))

final class RestFormatSink extends FormatSink("epochal-rest") {
  private val api = new OrdersApi(honours = true)

  override def options: util.Map[String, String] = RestSinkFixture.options(api).asJava

  override def stored(): util.List[lang.Long] = api.applied.map(Long.box).asJava

  /** Tasks send the rows. */
  override def showsWholeEpochs: Boolean = false

  override def exemptions: util.Map[String, String] =
    util.Map.of("new-query", "an API keeps no ledger: requests of another query have other keys")

  override def close(): Unit = api.close()
}
