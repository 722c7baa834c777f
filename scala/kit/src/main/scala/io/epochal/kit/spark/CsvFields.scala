package io.epochal.kit.spark

import org.apache.spark.unsafe.types.UTF8String

/** One line of CSV, split into its fields. */
trait CsvFields {
  def count: Int

  /** Whether the line could be split unambiguously. */
  def isSplit: Boolean

  def isUtf8(field: Int): Boolean

  /** The text of a field; null if it has no value. */
  def text(field: Int): String

  /** The text of a field; null if it has no value. */
  def utf8(field: Int): UTF8String
}
