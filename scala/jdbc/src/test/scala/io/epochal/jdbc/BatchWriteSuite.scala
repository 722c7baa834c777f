package io.epochal.jdbc

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.{LongType, StructType}

import io.epochal.core.error.Conditions

/** Batch writes have no ledger that would detect changes. */
final class BatchWriteSuite extends SinkSuite(Postgres) {

  private val numeric = new StructType().add("id", LongType)

  Seq("inline", "staged").foreach { transport =>
    onSchema(
      s"a column type that changes during a batch write fails it, $transport",
      numeric,
      "CREATE TABLE t (id BIGINT)") { f =>
      val write = f.newRun(query, Map("transport" -> transport)).newBatchWrite()
      val factory = write.createBatchWriterFactory(() => 1)
      if (transport == "staged") f.database.execute("ALTER TABLE t ALTER COLUMN id TYPE double precision")
      val writer = factory.createWriter(0, 0L)
      (1L to 3L).foreach(n => writer.write(InternalRow(n)))
      val message = writer.commit()
      writer.close()
      if (transport == "inline") f.database.execute("ALTER TABLE t ALTER COLUMN id TYPE double precision")
      refused(Conditions.TargetChanged)(write.commit(Array(message)))
      assert(f.database.query("SELECT id FROM t").isEmpty)
    }
  }
}
