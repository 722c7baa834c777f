package io.epochal.kit.source

import java.time.Clock

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.InputPartition
import org.apache.spark.sql.connector.read.streaming._

import io.epochal.core.offset.CountedStream
import io.epochal.kit.spark.{FirstFailure, QueryStop, RunningQuery}

/** The driver's part of a source in a continuous query. Spark plans partitions once; the readers run continuously, and at every
  * epoch `mergeOffsets` receives their partition offsets. Spark logs its result before the sink commits, and calls `commit`
  * after.
  *
  * When partitions are planned again, Spark ends the job in the middle of an epoch and reruns that epoch, to another end. An
  * end that it had logged already would stay (see `kit.store.LoggedEpochs`): so the job is ended only when no end waits for its
  * commit, and no end is returned from then on.
  *
  * Spark ignores exceptions of the methods that it calls outside of the query's thread: such a query would stay active, and
  * commit nothing more. So they end it.
  *
  * @param forgetUncommitted
  *   sets aside the ends of epochs that an earlier run logged and did not commit, unless the sink does. When Spark plans for
  *   the first time, no earlier run of the query is left in this process, and this run has logged nothing
  */
final class ContinuousSourceStream[P](
    source: ContinuousSource[P],
    initial: InitialOffset,
    clock: Clock,
    eventTime: Option[EventTime] = None,
    forgetUncommitted: () => Unit = () => ())
    extends CheckpointedStream(source, initial, clock, eventTime)
    with ContinuousStream
    with CountedStream {

  /** Ends that are logged but not committed. */
  private var waiting = 0
  private var reconfiguring = false
  private var planned = false
  @volatile private var fail: Throwable => Unit = _ => ()

  override def planInputPartitions(start: Offset): Array[InputPartition] = QueryStop.guard {
    // A run that cannot open its source leaves the entries of an earlier one, which may still run, alone.
    begin(position(start), position(start))
    if (!planned) forgetUncommitted()
    planned = true
    fail = RunningQuery.failureOfThisThread()
    FirstFailure.watch()
    synchronized {
      waiting = 0
      reconfiguring = false
    }
    source.endlessPartitions(reached(start))
  }

  override def regrouped: Boolean = source.regrouped

  override def keepPartitions(): Unit = source.keepPartitions()

  override def createContinuousReaderFactory(): ContinuousPartitionReaderFactory =
    QueryStop.guard {
      val readers = endlessReaders(source)
      partition => new ContinuousReader(readers.createReader(partition))
    }

  override def mergeOffsets(offsets: Array[PartitionOffset]): Offset = synchronized {
    if (reconfiguring) throw new IllegalStateException("the partitions are planned again: this epoch is rerun")
    waiting += 1
    orFail(offset(merged(source, offsets)))
  }

  override def commit(end: Offset): Unit = orFail {
    synchronized(waiting -= 1)
    super.commit(end)
    lag.reached(position(end))
    source.lookAhead(position(end))
    lag.polled(position(end), clock.instant())
  }

  override def needsReconfiguration(): Boolean = synchronized {
    reconfiguring ||= waiting <= 0 && orFail(source.needsReconfiguration)
    reconfiguring
  }

  private def orFail[A](body: => A): A =
    try body
    catch {
      case error: Throwable =>
        fail(error)
        throw error
    }
}

/** Runs as long as the query: `next` waits for a row and never returns false. Spark reads the offset with every row, and the
  * last one in an epoch is where the next epoch begins.
  */
final private class ContinuousReader(reader: EndlessReader) extends ContinuousPartitionReader[InternalRow] {

  override def next(): Boolean = {
    while (!reader.next(Long.MaxValue)) {}
    true
  }

  override def get(): InternalRow = reader.get()

  override def getOffset: PartitionOffset = reader.offset

  override def close(): Unit = reader.close()
}
