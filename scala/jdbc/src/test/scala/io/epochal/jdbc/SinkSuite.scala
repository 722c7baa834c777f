package io.epochal.jdbc

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType
import org.scalatest.Tag
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tagobjects.Slow

import io.epochal.core.error.{Condition, EpochalException}
import io.epochal.core.failpoint.Failpoints
import io.epochal.testkit.{Epoch, SinkRun}

/** A suite for one kind of database, in which tests drive the sink directly, without a Spark session. */
abstract class SinkSuite(databases: TestDatabases) extends AnyFunSuite {

  protected val query = "5b3c9f0e-0000-4000-8000-00000000000a"
  protected val otherQuery = "5b3c9f0e-0000-4000-8000-00000000000b"
  protected val table = "CREATE TABLE t (id BIGINT NOT NULL, word TEXT)"

  protected def on(claim: String, ddl: String*)(body: JdbcSinkFixture => Any): Unit =
    onSchema(claim, JdbcSinkFixture.Schema, ddl: _*)(body)

  protected def onSchema(claim: String, schema: StructType, ddl: String*)(body: JdbcSinkFixture => Any): Unit =
    onSchema(claim, schema, Nil, ddl)(body)

  /** For tests that `make test` leaves out. */
  protected def slowly(claim: String, ddl: String*)(body: JdbcSinkFixture => Any): Unit =
    onSchema(claim, JdbcSinkFixture.Schema, Seq(Slow), ddl)(body)

  private def onSchema(claim: String, schema: StructType, tags: Seq[Tag], ddl: Seq[String])(
      body: JdbcSinkFixture => Any
  ): Unit =
    test(s"${databases.kind}: $claim", tags: _*) {
      val database = databases.newDatabase()
      if (ddl.nonEmpty) database.execute(ddl: _*)
      val fixture = new JdbcSinkFixture(database, schema)
      try { body(fixture); () }
      finally {
        Failpoints.disarm()
        fixture.close()
      }
    }

  /** A complete epoch in two partitions. */
  protected def write(
      fixture: JdbcSinkFixture,
      run: SinkRun,
      epoch: Long,
      rows: Seq[InternalRow],
      offsets: String = "same"
  ): Unit = {
    fixture.logOffsets(epoch, s"""{"epoch":$epoch,"offsets":"$offsets"}""")
    val now = new Epoch(epoch, run.newWrite(), 2)
    val (left, right) = rows.splitAt(rows.size / 2)
    now.commit(Seq(now.task(1, 1, right), now.task(0, 0, left)))
  }

  protected def numbers(fixture: JdbcSinkFixture, range: Range): Seq[InternalRow] =
    range.map(n => fixture.row(n.toLong))

  protected def refused(condition: Condition)(body: => Any): EpochalException = {
    val error = intercept[EpochalException](body)
    assert(error.condition.name == condition.name, error.getMessage)
    error
  }

  protected def holds(fixture: JdbcSinkFixture, range: Range): Unit = {
    val stored = fixture.numbers.sorted
    assert(stored == range.map(_.toLong))
    ()
  }

  protected def ledger(fixture: JdbcSinkFixture, column: String, sink: String = "sink"): Any =
    fixture.database.one(s"SELECT $column FROM epochal_ledger WHERE sink_id = '$sink'") match {
      case number: Number => number.longValue
      case other          => other
    }
}
