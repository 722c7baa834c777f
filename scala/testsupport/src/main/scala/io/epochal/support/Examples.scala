package io.epochal.support

import org.scalactic.anyvals.PosInt

/** Number of examples per property: all in `make test-crash` (`EPOCHAL_CRASH=full`), a tenth in `make test`
  * (`EPOCHAL_TESTS=small`), else a third.
  */
object Examples {

  /** Whether this is `make test-crash`. */
  val isFull: Boolean = sys.env.get("EPOCHAL_CRASH").contains("full")

  private val isSmall: Boolean = sys.env.get("EPOCHAL_TESTS").contains("small")
  private val share: Int = if (isFull) 1 else if (isSmall) 10 else 3

  /** @param small
    *   at most so many in `make test`
    */
  def of(full: Int, small: Int = Int.MaxValue): PosInt = {
    val shared = (full + share - 1) / share
    PosInt.ensuringValid(if (isSmall && !isFull) shared.min(small) else shared)
  }
}
