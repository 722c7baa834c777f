package io.epochal.kit.source

import org.apache.spark.sql.connector.read.streaming._

/** A position as Spark handles it: compared, logged and returned as its JSON. */
final case class SourceOffset[P](position: P, override val json: String) extends Offset
