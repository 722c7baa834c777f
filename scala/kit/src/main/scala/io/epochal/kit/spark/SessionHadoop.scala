package io.epochal.kit.spark

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.{SparkSession, classic}

/** Hadoop's configuration as Spark uses it for a query's checkpoint, including the session's settings. */
object SessionHadoop {

  def configuration: Configuration = SparkSession.active match {
    case session: classic.SparkSession => session.sessionState.newHadoopConf()
    case other                         => other.sparkContext.hadoopConfiguration
  }
}
