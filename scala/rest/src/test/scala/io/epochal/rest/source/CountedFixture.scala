package io.epochal.rest.source

import org.apache.spark.sql.types.StructType
import org.scalatest.Assertions

import io.epochal.core.error.EpochalException

/** Queries over an API with counted records, run as by Spark, without a session. */
trait CountedFixture extends Assertions {

  protected val schema: StructType = CountedFixture.Schema

  protected class Query(val api: RecordsApi, options: Seq[(String, String)])
      extends IdQuery(api.url, CountedFixture.Schema, options)

  /** A query over so many records, ten per page. */
  protected def query(records: Int, options: (String, String)*)(body: Query => Any): Unit =
    RecordsApi.using(records) { api =>
      val _ = body(new Query(api, Seq("pageSize" -> "10") ++ options))
    }

  protected def failure(body: => Any): EpochalException = intercept[EpochalException] { val _ = body }
}

private object CountedFixture {
  val Schema: StructType = StructType.fromDDL("id INT, name STRING")
}
