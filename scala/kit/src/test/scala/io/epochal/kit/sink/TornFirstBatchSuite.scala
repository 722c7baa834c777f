package io.epochal.kit.sink

import java.nio.file.{Files, Path}

import org.apache.hadoop.conf.Configuration
import org.scalatest.funsuite.AnyFunSuite

final class TornFirstBatchSuite extends AnyFunSuite {
  private val torn = ".0.3f1c2e58-6c8f-4b8e-9d57-0d7f8f1f2a3b.tmp"

  private def checkpoint(files: String*): Path = {
    val directory = Files.createTempDirectory("checkpoint")
    Seq("offsets", "commits", "state").foreach(name => Files.createDirectories(directory.resolve(name)))
    files.foreach(file => Files.writeString(directory.resolve(file), "v1"))
    directory
  }

  private def left(directory: Path): Seq[String] = {
    TornFirstBatch.sweep(Map("checkpointlocation" -> directory.toString), new Configuration)
    directory.resolve("offsets").toFile.list.toSeq
  }

  test("the temporary file of a torn first batch is deleted") {
    assert(left(checkpoint(s"offsets/$torn")).isEmpty)
    assert(left(checkpoint(s"offsets/$torn", s"offsets/${torn.replace("3f1c", "aaaa")}")).isEmpty)
  }

  test("so is that of its commit: a real-time query deletes the offsets beside it, and then starts from nothing") {
    val directory = checkpoint("offsets/0", s"commits/$torn")
    assert(left(directory) == Seq("0"))
    assert(directory.resolve("commits").toFile.list.isEmpty)
    assert(left(checkpoint(s"offsets/$torn", "offsets/0")) == Seq("0"))
  }

  test("it stays if the checkpoint has a commit, state, or another batch's file") {
    assert(left(checkpoint(s"offsets/$torn", "commits/0")).size == 1)
    assert(left(checkpoint(s"offsets/$torn", "state/0")).size == 1)
    assert(left(checkpoint(s"offsets/${torn.replace(".0.", ".1.")}")).size == 1)
  }

  test("a missing or unset checkpoint is no error") {
    TornFirstBatch.sweep(Map.empty, new Configuration)
    TornFirstBatch.sweep(Map("checkpointLocation" -> "/nowhere/at/all"), new Configuration)
    TornFirstBatch.sweep(Map("checkpointLocation" -> "nosuch://x/y"), new Configuration)
  }
}
