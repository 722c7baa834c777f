package io.epochal.jdbc

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.{LongType, StringType, StructType}
import org.apache.spark.unsafe.types.UTF8String.fromString

import io.epochal.core.error.Conditions

/** Keys that are equal though their bytes differ, on a server built with ICU. */
final class CollationSuite extends SinkSuite(Postgres13) {

  Seq("inline", "staged").foreach { transport =>
    onSchema(
      s"a key's new collation is refused unless accepted, and then decides which keys are equal, $transport",
      new StructType().add("id", LongType).add("word", StringType),
      "CREATE TABLE t (id BIGINT, word TEXT PRIMARY KEY)",
      "CREATE COLLATION ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
    ) { f =>
      val options = Map("sinkId" -> "sink", "transport" -> transport, "keyColumns" -> "word", "orderColumn" -> "id")
      def rows(pairs: (Long, String)*) = pairs.map { case (id, word) => InternalRow(id, fromString(word)) }
      write(f, f.newRun(query, options), 0, rows(1L -> "a", 2L -> "b"))
      f.database.execute("ALTER TABLE t ALTER word TYPE text COLLATE ci")
      assert(refused(Conditions.KeyComparisonMismatch)(f.newRun(query, options)).values("comparison") == "collation ci")
      val accepted = options + ("keyComparison" -> "database")
      write(f, f.newRun(query, accepted), 1, rows(3L -> "A", 4L -> "a", 5L -> "c"))
      assert(f.numbers.sorted == Seq(2L, 4L, 5L))
    }
  }
}
