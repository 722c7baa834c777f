package io.epochal.kit.store

import java.nio.file.{Files, Path}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{Path => HadoopPath}
import org.scalatest.funsuite.AnyFunSuite

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
    assert(epochs.removeUncommitted().isEmpty && epochs.unfinished.isEmpty)
  }

  test("only entries after the last commit are removed") {
    val (directory, epochs) = checkpoint((3 to 7).map(_ -> "").toMap, Seq(3, 4, 5))
    Files.writeString(directory.resolve("offsets/.8.tmp"), "")
    assert(epochs.removeUncommitted() == Seq(6, 7))
    assert(names(directory) == Seq(".8.tmp", "3", "4", "5"))
    assert(epochs.removeUncommitted().isEmpty)
  }

  test("without a commit every epoch is rerun") {
    val (directory, epochs) = checkpoint(Map(0 -> "", 1 -> ""), Nil)
    assert(epochs.removeUncommitted() == Seq(0, 1) && names(directory).isEmpty)
  }

  test("an uncommitted epoch of another trigger is unfinished") {
    assert(checkpoint(Map(4 -> settings, 5 -> settings), Seq(4))._2.unfinished == Some(5L))
    assert(checkpoint(Map(4 -> settings, 5 -> settings), Seq(4, 5))._2.unfinished.isEmpty)
    assert(checkpoint(Map(4 -> settings, 5 -> ""), Seq(4))._2.unfinished.isEmpty)
  }

  test("a planned epoch is taken back, and no other") {
    val (directory, epochs) = checkpoint(Map(4 -> settings, 5 -> settings), Seq(4))
    Files.createDirectory(directory.resolve("sources"))
    Files.writeString(directory.resolve("sources/no stream"), "")
    assert(!epochs.takeBack(4) && names(directory) == Seq("4", "5"))
    assert(epochs.takeBack(5) && names(directory) == Seq("4"))
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
