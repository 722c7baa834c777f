package org.apache.spark.sql.test

import org.apache.spark.sql.streaming.StreamTest
import org.apache.spark.{SparkConf, SparkContext}

/** Suite that runs queries. Its session has its own catalog and configuration; all suites of a JVM share one SparkContext. In Spark's
  * package, because `TestSparkSession` is private to it.
  */
trait QuerySuite extends StreamTest {

  // Each partition of an aggregate has a store with files of its own for every epoch.
  override protected def sparkConf: SparkConf = super.sparkConf.set("spark.sql.shuffle.partitions", "2")

  override protected def createSparkSession: TestSparkSession = {
    val session = new QuerySuite.Session(QuerySuite.context(this))
    sparkConf.getAll.foreach { case (name, value) =>
      if (name.startsWith("spark.sql.")) session.sessionState.conf.setConfString(name, value)
    }
    session
  }
}

object QuerySuite {
  private var started: Option[SparkContext] = None

  private def context(suite: QuerySuite): SparkContext = synchronized {
    val running = started.filterNot(_.isStopped).getOrElse(new SparkContext("local[2]", "tests", suite.sparkConf))
    started = Some(running)
    running
  }

  /** A session that does not stop its context. */
  final private class Session(context: SparkContext) extends TestSparkSession(context) {
    override def close(): Unit = streams.active.foreach(_.stop())
  }
}
