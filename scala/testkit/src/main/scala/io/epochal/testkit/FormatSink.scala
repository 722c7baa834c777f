package io.epochal.testkit

import java.{lang, util}

import io.epochal.core.error.Condition

/** A sink as a query writes to it: by its format and options, in any process. One fixture is one target, empty at first.
  *
  * @param format
  *   the short name, or the class of the `TableProvider`
  */
abstract class FormatSink(val format: String) {

  /** What the writer is told, the same for every start. */
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

  /** Whether an error tells of a condition. An error that is not Epochal's may be any that was made on purpose. */
  def tells(error: Throwable, condition: Condition): Boolean = Refusal.tells(error, condition)

  /** The promises that the sink does not make: the name of each, and why. A report shows them as exempt. */
  def exemptions: util.Map[String, String] = util.Map.of()

  /** Called after each check. */
  @throws[Exception]
  def close(): Unit = ()
}
