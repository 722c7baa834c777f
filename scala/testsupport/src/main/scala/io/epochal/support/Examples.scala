package io.epochal.support

import org.scalactic.anyvals.PosInt

/** Number of examples per property: all in `make test-crash` (`EPOCHAL_CRASH=full`), a tenth in `make test`
  * (`EPOCHAL_TESTS=small`), else a third.
  */
object Examples {

  /** Whether this is `make test-crash`. */
  val isFull: Boolean = sys.env.get("EPOCHAL_CRASH").contains("full")

  private val share: Int = if (isFull) 1 else if (sys.env.get("EPOCHAL_TESTS").contains("small")) 10 else 3

  def of(full: Int): PosInt = PosInt.ensuringValid((full + share - 1) / share)
}
