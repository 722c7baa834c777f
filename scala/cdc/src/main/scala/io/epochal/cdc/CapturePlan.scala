package io.epochal.cdc

import io.epochal.cdc.slot.CaptureServer

/** A query's capture, as it was planned.
  *
  * @param binary
  *   whether the server sends values in binary form
  * @param threads
  *   that copy a table
  * @param watch
  *   None: of a batch, which has no checkpoint
  * @param reloads
  *   whether rows may be delivered again, after one that empties the table
  */
final private[cdc] case class CapturePlan(
    options: CdcOptions,
    server: CaptureServer,
    tables: CdcTables,
    binary: Boolean,
    threads: Int = 1,
    watch: Option[CatalogWatch] = None,
    reloads: Boolean = true)
