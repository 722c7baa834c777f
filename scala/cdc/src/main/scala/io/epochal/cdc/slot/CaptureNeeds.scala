package io.epochal.cdc.slot

/** The needs of a query.
  *
  * @param createsSlot
  *   whether it creates the slot if it does not exist
  * @param createsPublication
  *   likewise
  * @param operations
  *   that the publication must have
  * @param copies
  *   whether it reads the rows of the tables
  * @param standbys
  *   whether it waits for standbys
  */
final private[cdc] case class CaptureNeeds(
    slot: String,
    publication: String,
    createsSlot: Boolean,
    createsPublication: Boolean,
    preimages: Boolean,
    operations: Set[String],
    copies: Boolean = true,
    standbys: Boolean = false)
