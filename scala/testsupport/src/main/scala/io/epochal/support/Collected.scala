package io.epochal.support

import java.util.concurrent.{ConcurrentHashMap, ConcurrentLinkedQueue}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.{ForeachWriter, Row}

/** Delivered rows, by the name of the query. */
object Collected {
  private val rows = new ConcurrentHashMap[String, ConcurrentLinkedQueue[Row]]

  def of(name: String): Seq[Row] = queue(name).asScala.toSeq

  def add(name: String, row: Row): Unit = queue(name).add(row): Unit

  private def queue(name: String) = rows.computeIfAbsent(name, _ => new ConcurrentLinkedQueue[Row])
}

final class Collecting(name: String) extends ForeachWriter[Row] {
  override def open(partition: Long, epoch: Long): Boolean = true
  override def process(row: Row): Unit = Collected.add(name, row)
  override def close(error: Throwable): Unit = ()
}
