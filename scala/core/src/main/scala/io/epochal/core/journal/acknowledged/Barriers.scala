package io.epochal.core.journal.acknowledged

import java.nio.file.FileAlreadyExistsException

import io.epochal.core.journal.{EarlierRun, FileStore, Generation, JournalDamage}

/** The files that keep earlier runs from acknowledging (A11). */
private[acknowledged] object Barriers {

  /** Closes the earlier runs that rely on barriers. When it returns, none of them can create another segment.
    *
    * @param run
    *   the new one
    * @throws JournalDamage
    *   if the store creates no files conditionally for this run, but did so for an earlier one
    */
  def raise(store: FileStore, source: String, run: String)(generation: Generation, earlier: Seq[EarlierRun]): Unit =
    earlier.filter(_.isConditional).foreach { old =>
      if (!generation.isConditional)
        throw new JournalDamage(
          Generation.name(old.generation, old.run),
          "its run relies on conditional creation of files, which this run does not have: start the query once with the earlier settings and Hadoop client, and stop it")
      val first = SegmentIndex.name(old.generation, 0L, old.run)
      val numbers = store
        .names()
        .filter(name => SegmentIndex.runOf(name) == SegmentIndex.runOf(first))
        .flatMap(SegmentIndex.parse(_))
      raise(store, source, run, old, numbers.map(_._2).maxOption.getOrElse(0L) + 1)
    }

  @scala.annotation.tailrec
  private def raise(store: FileStore, source: String, run: String, old: EarlierRun, number: Long): Unit = {
    val name = SegmentIndex.name(old.generation, number, old.run)
    val isNew = store.createConditionally(name).exists { file =>
      val header = FrameFormat.header(FrameFormat.ConditionalVersion, OpenSegment.mark(run), 0L, source)
      file.write(header, 0, header.length)
      try {
        file.close()
        true
      } catch { case _: FileAlreadyExistsException => false }
    }
    if (!isNew) raise(store, source, run, old, number + 1)
  }
}
