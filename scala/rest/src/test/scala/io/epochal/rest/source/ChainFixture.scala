package io.epochal.rest.source

import org.apache.spark.sql.types.StructType
import org.scalatest.Assertions

import io.epochal.core.error.EpochalException

/** Queries over an API whose pages name the next one, run as by Spark, without a session. */
trait ChainFixture extends Assertions {

  protected val schema: StructType = ChainFixture.Schema

  final protected class Query(val api: ChainApi, options: (String, String)*)
      extends IdQuery(api.url, ChainFixture.Schema, options)

  protected def query(records: Int, kind: String, more: (String, String)*)(body: Query => Any): Unit =
    ChainApi.using(records) { api =>
      val _ = body(new Query(api, ChainApi.kinds(kind) ++ more: _*))
    }

  protected def failure(body: => Any): EpochalException = {
    val error = intercept[EpochalException] { val _ = body }
    assert(!error.getMessage.contains("hunter2"))
    error
  }
}

private object ChainFixture {
  val Schema: StructType = StructType.fromDDL("id INT NOT NULL, name STRING")
}
