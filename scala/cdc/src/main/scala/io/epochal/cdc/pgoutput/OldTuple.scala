package io.epochal.cdc.pgoutput

/** The row before an update or a delete.
  *
  * @param whole
  *   all columns (REPLICA IDENTITY FULL); else those of the identity, and NULL in the others
  */
final private[cdc] case class OldTuple(whole: Boolean, bytes: Bytes) {

  /** The letter that marks it in messages and frames. */
  def kind: Char = if (whole) 'O' else 'K'

  def deepCopy: OldTuple = copy(bytes = bytes.deepCopy)
}
