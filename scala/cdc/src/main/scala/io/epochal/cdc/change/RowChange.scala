package io.epochal.cdc.change

/** The kind of a change in a frame, which determines the number of rows that it delivers. */
sealed abstract private[cdc] class RowChange(val code: Byte, val rows: Int, val ordinals: Int)

private[cdc] object RowChange {
  case object Insert extends RowChange('I', rows = 1, ordinals = 1)

  /** An update that delivers the new row. */
  case object Update extends RowChange('U', rows = 1, ordinals = 1)

  /** An update that delivers the old row and the new one. */
  case object BothImages extends RowChange('V', rows = 2, ordinals = 1)

  /** An update of the key: deletes the old row, inserts the new one. */
  case object NewKey extends RowChange('K', rows = 2, ordinals = 2)
  case object Delete extends RowChange('D', rows = 1, ordinals = 1)
  case object Truncate extends RowChange('T', rows = 1, ordinals = 1)

  def of(code: Byte): RowChange = (code: @scala.annotation.switch) match {
    case 'I' => Insert
    case 'U' => Update
    case 'V' => BothImages
    case 'K' => NewKey
    case 'D' => Delete
    case 'T' => Truncate
  }
}
