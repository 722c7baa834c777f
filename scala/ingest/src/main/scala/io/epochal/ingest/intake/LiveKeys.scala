package io.epochal.ingest.intake

import java.nio.ByteBuffer
import java.time.Duration
import java.util.{ArrayDeque, LinkedHashMap}

/** Idempotency keys that were stored within the window, with their times, which never decrease: the clock may have been set between
  * runs, and the times of arrivals are those of a clock that may be set at any time. Not thread-safe, except `size`.
  *
  * Each new journal segment begins with a copy of them, so a key is remembered for the whole window, across restarts and after its
  * rows were removed.
  *
  * @param window
  *   0: keys are not remembered
  */
final private[intake] class LiveKeys(window: Duration) {
  private val windowMicros = window.toMillis * 1000L
  private val keyTimes = new LinkedHashMap[KeyDigest, Long]

  /** Restored keys whose times are in the future. */
  private val ahead = new ArrayDeque[KeyDigest]

  private var latest = Long.MinValue

  @volatile private var count = 0

  def size: Int = count

  /** Whether the key was stored within the window before `now`, in microseconds since 1970. */
  def knows(key: KeyDigest, now: Long): Boolean = {
    val at = keyTimes.getOrDefault(key, Long.MinValue)
    at != Long.MinValue && now - at < windowMicros
  }

  def add(key: KeyDigest, at: Long): Unit = {
    latest = math.max(latest, at)
    keyTimes.remove(key): Unit // Reinserted at the end.
    keyTimes.put(key, latest): Unit
    count = keyTimes.size
  }

  /** Removes keys that are older than the window. */
  def expire(now: Long): Unit = {
    val oldest = keyTimes.entrySet.iterator
    var due = true
    while (due && oldest.hasNext) {
      due = now - oldest.next().getValue >= windowMicros
      if (due) oldest.remove()
    }
    count = keyTimes.size
  }

  /** 24 bytes per key: digest and time, in a clock that is ahead by so many microseconds. */
  def toBytes(ahead: Long): Array[Byte] = {
    val bytes = ByteBuffer.allocate(24 * keyTimes.size)
    keyTimes.forEach((key, at) => bytes.putLong(key.high).putLong(key.low).putLong(at + ahead): Unit)
    bytes.array
  }

  /** Adds keys that `toBytes` wrote, as `restore` does. */
  def addAll(bytes: Array[Byte], now: Long): Unit = {
    val all = ByteBuffer.wrap(bytes)
    while (all.remaining >= 24) restore(KeyDigest(all.getLong(), all.getLong()), all.getLong(), now)
  }

  /** Adds a key of an earlier run, in the order in which they were stored. A time after `now` comes from a clock that was ahead: the
    * time of the next key that is not counts instead.
    */
  def restore(key: KeyDigest, at: Long, now: Long): Unit =
    if (at > now) ahead.add(key): Unit
    else {
      addAhead(at)
      add(key, at)
    }

  /** All keys are added: the last ones, if their clock was ahead, count as stored at `now`. */
  def addAhead(now: Long): Unit = {
    ahead.forEach(add(_, now))
    ahead.clear()
  }
}
