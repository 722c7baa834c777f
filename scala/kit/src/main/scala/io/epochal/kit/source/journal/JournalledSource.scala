package io.epochal.kit.source.journal

/** A [[FedSource]] that polls its origin. */
trait JournalledSource[P] extends FedSource[P] {

  /** It has a [[Feeding]]. */
  override def supply: JournalledSupply[P, _]

  final override protected def isLogged: Boolean = true

  final override protected def follow(start: P): Long = supply.follow(start)

  final override protected def followedTo(row: Long): P = supply.followedTo(row)
}
