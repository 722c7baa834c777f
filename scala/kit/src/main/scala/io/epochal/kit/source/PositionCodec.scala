package io.epochal.kit.source

import io.epochal.core.error.EpochalException

/** The format of a source's positions in Spark's log. */
trait PositionCodec[P] {

  /** An offset of this source, as `core.offset.OffsetFormat` writes it. */
  def toJson(position: P): String

  /** Left if it is not an offset of this source: OFFSET_INVALID, OFFSET_VERSION_UNSUPPORTED, SOURCE_CHANGED. */
  def fromJson(json: String): Either[EpochalException, P]
}
