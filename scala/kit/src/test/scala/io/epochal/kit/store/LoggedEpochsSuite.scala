package io.epochal.kit.store

import java.nio.file.{Files, Path}

import scala.util.Using

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{Path => HadoopPath}
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.core.error.{Conditions, EpochalException}

final class LoggedEpochsSuite extends AnyFunSuite {

  private val settings = """{"batchWatermarkMs":0,"conf":{}}"""

  private def checkpoint(offsets: Map[Int, String], commits: Seq[Int]): (Path, LoggedEpochs) = {
    val directory = Files.createTempDirectory("epochs")
    Seq("offsets", "commits").foreach(log => Files.createDirectory(directory.resolve(log)))
    offsets.foreach { case (n, line) => Files.writeString(directory.resolve(s"offsets/$n"), s"v1\n$line\n{}") }
    commits.foreach(n => Files.writeString(directory.resolve(s"commits/$n"), "v1\n{}"))
    directory -> new LoggedEpochs(new HadoopPath(directory.toUri), new Configuration())
  }

  private def names(directory: Path): Seq[String] = directory.resolve("offsets").toFile.list.toSeq.sorted

  test("a missing checkpoint has no epoch") {
    val epochs = new LoggedEpochs(new HadoopPath("/nowhere/at/all"), new Configuration())
    assert(epochs.lastLogged.isEmpty && epochs.lastCommitted.isEmpty && !epochs.isContinuous)
    assert(epochs.setAside().isEmpty && epochs.unfinished.isEmpty && epochs.restore().isEmpty)
  }

  private def aside(directory: Path): Seq[String] =
    Option(directory.resolve("epochal-offsets").toFile.list).toSeq.flatten.filterNot(_.startsWith(".")).sorted

  test("only entries after the last commit are set aside") {
    val (directory, epochs) = checkpoint((3 to 7).map(_ -> "").toMap, Seq(3, 4, 5))
    Files.writeString(directory.resolve("offsets/.8.tmp"), "")
    assert(epochs.setAside() == Seq(6, 7))
    assert(names(directory) == Seq(".8.tmp", "3", "4", "5"))
    assert(aside(directory).map(_.takeWhile(_ != '-')) == Seq("6", "7"))
    assert(epochs.setAside().isEmpty)
  }

  test("without a commit the first epoch is rerun, and several are not touched: their commits are missing") {
    val (first, one) = checkpoint(Map(0 -> ""), Nil)
    assert(one.setAside() == Seq(0) && names(first).isEmpty)
    val (directory, several) = checkpoint(Map(0 -> "", 1 -> ""), Nil)
    assert(intercept[EpochalException](several.setAside()).condition == Conditions.CommitsMissing)
    assert(names(directory) == Seq("0", "1") && aside(directory).isEmpty)
  }

  test("entries are read as Spark reads them: the checksum of one that was edited is ignored") {
    val (directory, epochs) = checkpoint(Map(0 -> settings), Nil)
    val file = new HadoopPath(directory.resolve("offsets/1").toUri)
    val files = file.getFileSystem(new Configuration())
    Using.resource(files.create(file))(_.writeBytes("v1\n\n{}"))
    assert(epochs.isContinuous)
    Files.writeString(directory.resolve("offsets/1"), s"v1\n$settings\n{}")
    assert(!epochs.isContinuous && epochs.unfinished.contains(0L))
  }

  test("an epoch that was committed after it was set aside is put back, unless there are several of its number") {
    val (directory, epochs) = checkpoint(Map(4 -> "", 5 -> ""), Seq(4))
    val text = Files.readString(directory.resolve("offsets/5"))
    assert(epochs.setAside() == Seq(5) && epochs.restore().isEmpty)
    Files.writeString(directory.resolve("commits/5"), "v1\n{}")
    assert(epochs.restore().contains(5L) && Files.readString(directory.resolve("offsets/5")) == text)
    assert(aside(directory).isEmpty && epochs.restore().isEmpty)
    Files.delete(directory.resolve("commits/5"))
    (1 to 2).foreach { _ =>
      Files.writeString(directory.resolve("offsets/5"), "")
      assert(epochs.setAside() == Seq(5))
    }
    Files.writeString(directory.resolve("commits/5"), "v1\n{}")
    assert(epochs.restore().isEmpty && aside(directory).size == 2)
  }

  test("an epoch that Spark is about to delete is put back if it is committed later") {
    val (directory, epochs) = checkpoint(Map(4 -> settings, 5 -> settings), Seq(4))
    epochs.keepUncommitted()
    assert(names(directory) == Seq("4", "5") && aside(directory).map(_.takeWhile(_ != '-')) == Seq("5"))
    Files.delete(directory.resolve("offsets/5"))
    Files.writeString(directory.resolve("commits/5"), "v1\n{}")
    assert(epochs.restore().contains(5L) && names(directory).filterNot(_.startsWith(".")) == Seq("4", "5"))
  }

  test("the last hundred entries stay aside") {
    val (directory, epochs) = checkpoint(Map(4 -> ""), Seq(4))
    (1 to 103).foreach { _ =>
      Files.writeString(directory.resolve("offsets/5"), "")
      epochs.setAside()
    }
    assert(aside(directory).size == 100)
  }

  test("an uncommitted epoch of another trigger is unfinished") {
    assert(checkpoint(Map(4 -> settings, 5 -> settings), Seq(4))._2.unfinished == Some(5L))
    assert(checkpoint(Map(4 -> settings, 5 -> settings), Seq(4, 5))._2.unfinished.isEmpty)
    assert(checkpoint(Map(4 -> settings, 5 -> ""), Seq(4))._2.unfinished.isEmpty)
  }

  test("an epoch with another number of state partitions only repartitioned the state, and so did a control batch") {
    def partitions(count: Int) = s"""{"batchWatermarkMs":0,"conf":{"spark.sql.shuffle.partitions":"$count"}}"""
    val control = settings.dropRight(1) + ""","controlBatchInfo":{"operationType":"repartition"}}"""
    val (_, epochs) = checkpoint(
      Map(0 -> partitions(2), 1 -> partitions(2), 2 -> partitions(3), 3 -> settings, 4 -> partitions(3), 5 -> control),
      0 to 5)
    assert((0L to 7L).filter(epochs.repartitions) == Seq(2L, 5L))
  }

  test("a planned epoch is taken back, and no other") {
    val (directory, epochs) = checkpoint(Map(4 -> settings, 5 -> settings), Seq(4))
    Files.createDirectory(directory.resolve("sources"))
    Files.writeString(directory.resolve("sources/no stream"), "")
    assert(!epochs.takeBack(4) && names(directory) == Seq("4", "5"))
    assert(epochs.takeBack(5) && names(directory) == Seq("4") && aside(directory).size == 1)
    assert(!epochs.takeBack(5) && !checkpoint(Map(4 -> settings, 5 -> ""), Seq(4))._2.takeBack(5))
  }

  test("an epoch of real-time runs is not taken back; one committed before them, whose commit was removed, is") {
    val (directory, epochs) = checkpoint(Map(4 -> settings, 5 -> settings), Seq(4))
    val committed = directory.resolve("commits/5")
    val runs = RealTimeRuns.of(directory.resolve("sources/0").toString, new Configuration())
    assert(!runs.began(5))
    runs.begin()
    Files.writeString(committed, "")
    runs.begin()
    assert(runs.began(5) && runs.began(6) && !runs.began(4))
    Files.delete(committed)
    assert(!epochs.takeBack(5) && names(directory) == Seq("4", "5"))
    runs.end()
    runs.end()
    assert(!runs.began(5))
    Files.writeString(committed, "")
    runs.begin()
    Files.delete(committed)
    assert(!runs.began(5) && epochs.takeBack(5))
    runs.begin()
    assert(runs.began(5))
    runs.end()
    assert(!runs.began(6))
  }

  test("the last entry shows whether the trigger was continuous") {
    assert(checkpoint(Map(0 -> settings, 1 -> ""), Nil)._2.isContinuous)
    assert(!checkpoint(Map(0 -> "", 1 -> settings), Nil)._2.isContinuous)
  }
}
