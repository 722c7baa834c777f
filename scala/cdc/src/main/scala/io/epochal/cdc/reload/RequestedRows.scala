package io.epochal.cdc.reload

import io.epochal.cdc.change.{Chunk, ServerSnapshot}

/** Rows that are to be copied.
  *
  * @param lastChunk
  *   that was delivered; None: none was
  * @param inChunks
  *   whether to read a chunk, if the purpose and the key allow it
  * @param isFirstCopy
  *   whether this stream has delivered no copy of the table yet
  * @param showsRecentCommits
  *   whether a snapshot of the server shows the last transactions that the stream has read
  */
final private[cdc] case class RequestedRows(
    request: ReloadRequest,
    lastChunk: Option[Chunk],
    inChunks: Boolean,
    isFirstCopy: Boolean,
    showsRecentCommits: ServerSnapshot => Boolean)
