package io.epochal.testkit

import java.{lang, util}

import io.epochal.testkit.report.Promise

/** A sink as a query writes to it: by its format and options, in any process. One fixture is one target, empty at first.
  *
  * @param format
  *   the short name, or the class of the `TableProvider`
  */
abstract class FormatSink(val format: String) extends Fixture {

  /** The writer's options, the same for every start. */
  def options: util.Map[String, String]

  /** The rows, as SQL over the column `id BIGINT`, which counts from 0. One of them must hold the id. */
  def columns: util.List[String] = util.List.of("id")

  /** The ids of the rows that readers of the target see now, in any order. Called while other processes write. */
  @throws[Exception]
  def stored(): util.List[lang.Long]

  /** Whether readers see an epoch whole or not at all. Where they do not, kills are only checked for every row being there once in
    * the end.
    */
  def showsWholeEpochs: Boolean = true

  /** Modes beyond micro-batch that the sink works in: `continuous`, `real-time`. It must refuse the others. */
  def modes: util.Set[String] = util.Set.of()

  override private[testkit] def exemption(promise: Promise): Option[String] =
    super
      .exemption(promise)
      .orElse(Option.when(promise == SinkPromises.WholeEpochs && !showsWholeEpochs)(
        "declared: rows are visible before the commit"))
}
