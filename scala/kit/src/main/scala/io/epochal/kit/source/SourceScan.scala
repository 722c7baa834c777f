package io.epochal.kit.source

import java.time.Clock

import org.apache.spark.SparkContext
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.read.streaming.{ContinuousStream, MicroBatchStream}
import org.apache.spark.sql.connector.read.{Batch, Scan}
import org.apache.spark.sql.types.StructType

import io.epochal.kit.engine.{QueryStop, SessionHadoop}

/** One reading of a table: Spark asks it for the stream (or batch) of the mode that the query runs in.
  *
  * @param name
  *   shown in plans
  */
abstract class SourceScan[P](name: String, schema: StructType, clock: Clock = Clock.systemUTC()) extends Scan {

  /** The batch read: what the origin has when it is planned. */
  protected def batch: Batch

  /** A source that can be read in all modes of its table.
    *
    * @param checkpoint
    *   keeps the stream's first offset, and what else the source keeps beside it
    */
  protected def source(checkpoint: InitialOffset): Source[P]

  /** Of the session in which the query is planned; streams are used in threads of their own. */
  protected lazy val spark: SparkContext = SparkSession.active.sparkContext

  final override def readSchema(): StructType = schema

  final override def description(): String = name

  /** Spark asks for it each time that it plans the scan: the origin is asked once. */
  final override lazy val toBatch: Batch = batch

  final override def toMicroBatchStream(checkpoint: String): MicroBatchStream = QueryStop.guard {
    val initial = initialOffset(checkpoint)
    new SourceStream(source(initial), initial, clock)
  }

  final override def toContinuousStream(checkpoint: String): ContinuousStream = QueryStop.guard {
    val initial = initialOffset(checkpoint)
    source(initial) match {
      case continuous: ContinuousSource[P] => new ContinuousSourceStream(continuous, initial)
      case _                               => super.toContinuousStream(checkpoint)
    }
  }

  private def initialOffset(checkpoint: String) = new InitialOffset(checkpoint, SessionHadoop.configuration)
}
