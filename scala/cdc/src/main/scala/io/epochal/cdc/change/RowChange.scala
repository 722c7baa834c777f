package io.epochal.cdc.change

/** The kind of a change in a frame, which determines the number of rows that it delivers. */
sealed abstract private[cdc] class RowChange(val code: Byte, val rows: Int, val ordinals: Int) {

  /** The change as part of a comparison. */
  def verifying: RowChange = this
}

private[cdc] object RowChange {
  case object Insert extends Change('I', rows = 1, ordinals = 1)

  /** An update that delivers the new row. */
  case object Update extends Change('U', rows = 1, ordinals = 1)

  /** An update that delivers the old row and the new one. */
  case object BothImages extends Change('V', rows = 2, ordinals = 1)

  /** An update of the key: deletes the old row, inserts the new one. */
  case object NewKey extends Change('K', rows = 2, ordinals = 2)
  case object Delete extends Change('D', rows = 1, ordinals = 1)
  case object Truncate extends Change('T', rows = 1, ordinals = 1)

  sealed abstract class Change(code: Byte, rows: Int, ordinals: Int) extends RowChange(code, rows, ordinals) {
    override val verifying: Verifying = Verifying(this)
  }

  /** A change as part of a comparison, which that of a TRUNCATE begins. */
  final case class Verifying(change: Change)
      extends RowChange((change.code | Small).toByte, change.rows, change.ordinals)

  /** The bounds of a chunk that is compared: the key before its first row, and that of its last one. */
  case object LowerBound extends RowChange('a', rows = 1, ordinals = 1)
  case object UpperBound extends RowChange('b', rows = 1, ordinals = 1)

  /** Ends a comparison; the second one also has what differs corrected. */
  case object Verified extends RowChange('e', rows = 1, ordinals = 1)
  case object Repaired extends RowChange('f', rows = 1, ordinals = 1)

  final private val Small = 0x20

  /** Whether the change of a code is part of a comparison. */
  def isVerifying(code: Byte): Boolean = (code & Small) != 0

  def of(code: Byte): RowChange = (code: @scala.annotation.switch) match {
    case 'I'                         => Insert
    case 'U'                         => Update
    case 'V'                         => BothImages
    case 'K'                         => NewKey
    case 'D'                         => Delete
    case 'T'                         => Truncate
    case 'a'                         => LowerBound
    case 'b'                         => UpperBound
    case 'e'                         => Verified
    case 'f'                         => Repaired
    case small if isVerifying(small) => of((small & ~Small).toByte).verifying
  }
}
