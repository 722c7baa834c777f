package io.epochal.testkit.engine

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._
import scala.util.Using

import io.epochal.testkit.report.Evidence

/** What a [[RecordingSink]] was brought, oldest first: an epoch may have come more than once. */
final private[testkit] class Deliveries(directory: Path) {

  def all: Seq[(Long, Seq[String])] =
    if (!Files.isDirectory(directory)) Nil
    else
      Using
        .resource(Files.list(directory))(_.iterator.asScala.toVector)
        .filterNot(_.toString.endsWith(".tmp"))
        .sortBy(_.getFileName.toString.dropWhile(_ != '@'))
        .map { file =>
          file.getFileName.toString
            .takeWhile(_ != '@')
            .toLong -> Files.readAllLines(file).asScala.filter(_.nonEmpty).toVector
        }

  /** Of each epoch what came last. */
  def rows: Seq[String] = all.toMap.values.flatten.toSeq

  /** @return
    *   how many rows there are, each epoch counted once
    */
  def distinctRows: Int = rows.distinct.size

  /** That every replay of an epoch brought what its first delivery brought. */
  def sameWhenReplayed(): Unit =
    all.groupMap(_._1)(_._2).toSeq.sortBy(_._1).foreach { case (epoch, times) =>
      times.tail.foreach { again =>
        Evidence.sameRows(
          s"epoch $epoch, delivered ${times.size} times, had other rows when it was replayed",
          again,
          times.head)
      }
    }

  /** That the epochs together brought so many rows, each once. */
  def onceEach(what: String, count: Long): Unit = Evidence.onceEach(what, rows, count)
}
