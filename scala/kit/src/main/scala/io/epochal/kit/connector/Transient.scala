package io.epochal.kit.connector

import java.io.{FileNotFoundException, IOException}
import java.nio.file.FileSystemException

import io.epochal.kit.spark.QueryStop

/** Which failures can pass, where an author does not say. */
private[connector] object Transient {

  /** A failure of input or output that is none of a file: that of a network. */
  def ofNetwork(error: Throwable): Boolean = error match {
    case _: FileSystemException | _: FileNotFoundException => false
    case _: IOException                                    => !QueryStop.isInterruption(error)
    case _                                                 => false
  }
}
