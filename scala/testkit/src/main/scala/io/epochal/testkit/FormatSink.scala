package io.epochal.testkit

import java.{lang, util}

import io.epochal.testkit.report.Promise

/** Fixture of a sink that queries write to by format and options, from any process. One fixture is one target, initially empty.
  *
  * @param format
  *   the short name, or the class of the `TableProvider`
  */
abstract class FormatSink(val format: String) extends Fixture {

  /** Options of the writer, the same for every start. */
  def options: util.Map[String, String]

  /** Columns to write, as SQL expressions over `id BIGINT`, which counts from 0. One of them must contain the id. */
  def columns: util.List[String] = util.List.of("id")

  /** Ids of the rows that are currently visible in the target, in any order. Called while other processes write. */
  @throws[Exception]
  def stored(): util.List[lang.Long]

  /** Whether epochs become visible atomically. If not, checks with kills only verify that in the end every row is there once.
    */
  def showsWholeEpochs: Boolean = true

  /** Supported modes besides micro-batch: `continuous`, `real-time`. The sink must refuse the others. */
  def modes: util.Set[String] = util.Set.of()

  override private[testkit] def exemption(promise: Promise): Option[String] =
    super
      .exemption(promise)
      .orElse(Option.when(promise == SinkPromises.WholeEpochs && !showsWholeEpochs)(
        "declared: rows are visible before the commit"))
}
