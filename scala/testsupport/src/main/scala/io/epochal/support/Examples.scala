package io.epochal.support

import org.scalactic.anyvals.PosInt

/** Number of examples per property: all with `EPOCHAL_CRASH=full`, as in `make test-crash`, else a third. */
object Examples {

  /** Whether this is `make test-crash`. */
  val isFull: Boolean = sys.env.get("EPOCHAL_CRASH").contains("full")

  def of(full: Int): PosInt = PosInt.ensuringValid(if (isFull) full else (full + 2) / 3)
}
