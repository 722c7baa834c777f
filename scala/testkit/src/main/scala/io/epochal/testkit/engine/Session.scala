package io.epochal.testkit.engine

import org.apache.spark.sql.SparkSession

/** The session of the checks: the one that is there, else one of the kit's own, which ends with [[release]]. */
private[testkit] object Session {
  private var ours = Option.empty[SparkSession]

  def get(): SparkSession = synchronized {
    val session = SparkSession.getActiveSession
      .orElse(SparkSession.getDefaultSession)
      .filterNot(_.sparkContext.isStopped)
      .getOrElse {
        SparkJvm.require()
        val made = create("local[4]")
        ours = Some(made)
        made
      }
    val (name, value) = StepFileSystem.setting
    session.sparkContext.hadoopConfiguration.set(name, value)
    session
  }

  def release(): Unit = synchronized {
    ours.foreach { made =>
      made.stop()
      SparkSession.clearActiveSession()
      SparkSession.clearDefaultSession()
    }
    ours = None
  }

  /** As little as a session can be. */
  def create(master: String): SparkSession = SparkSession
    .builder()
    .master(master)
    .appName("epochal-testkit")
    .config("spark.ui.enabled", "false")
    .config("spark.ui.showConsoleProgress", "false")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.sql.shuffle.partitions", "2")
    .config(s"spark.hadoop.${StepFileSystem.setting._1}", StepFileSystem.setting._2)
    .getOrCreate()
}
