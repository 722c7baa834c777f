package io.epochal.kit.source

import io.epochal.core.error.EpochalException

/** How a source's positions are logged. */
trait PositionCodec[P] {

  /** An offset of this source, as `core.offset.OffsetFormat` writes it. */
  def toJson(position: P): String

  /** Left where it is no offset of this source: OFFSET_INVALID, OFFSET_VERSION_UNSUPPORTED, SOURCE_CHANGED. */
  def fromJson(json: String): Either[EpochalException, P]
}
