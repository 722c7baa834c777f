package io.epochal.kit.source

import org.apache.spark.sql.connector.read.streaming.{Offset, SparkDataStream}

import io.epochal.kit.spark.QueryStop

/** What Spark holds of a position: compared, logged and handed back as its JSON. */
final case class SourceOffset[P](position: P, override val json: String) extends Offset

/** What streams of all modes do: offsets, the first of which is kept in the checkpoint, and release.
  *
  * A stopped query interrupts whatever waits for an origin or the checkpoint: see [[QueryStop]].
  */
abstract class CheckpointedStream[P](source: Source[P], initial: InitialOffset) extends SparkDataStream {

  private lazy val first = deserializeOffset(initial.orElse(source.toJson(source.first)))

  /** Spark asks at the first start, and again when batch 0 is replayed. */
  final override def initialOffset(): Offset = QueryStop.guard(first)

  final override def deserializeOffset(json: String): SourceOffset[P] =
    offset(source.fromJson(json).fold(throw _, identity))

  /** May come twice, and before the batch that ends there can no longer be replayed. */
  override def commit(end: Offset): Unit = QueryStop.guard(source.supply.release(position(end)))

  final override def stop(): Unit = source.supply.close()

  final override def toString: String = source.name

  protected def offset(position: P): SourceOffset[P] = SourceOffset(position, source.toJson(position))

  /** Spark hands back our own offsets, or, after a restart, what it read from its log. */
  protected def position(offset: Offset): P = offset match {
    case ours: SourceOffset[P @unchecked] => ours.position
    case logged                           => deserializeOffset(logged.json).position
  }
}
