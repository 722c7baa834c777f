package io.epochal.cdc.reload

import io.epochal.cdc.change.ServerSnapshot

/** A copy whose rows and changes are all kept.
  *
  * @param lsn
  *   of the transaction of its mark
  * @param snapshot
  *   of the server, in which the rows were read
  */
final private[reload] case class CompleteReload(
    request: ReloadRequest,
    token: String,
    lsn: Long,
    snapshot: ServerSnapshot)
