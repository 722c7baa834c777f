package io.epochal.kit.source

import java.nio.file.{Files, Path}

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.types.StructType
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.kit.record.SchemaInference

final class InitialOffsetSuite extends AnyFunSuite {

  /** Zeroed contents that a power failure may leave of a file that was not synced, with and without Hadoop's checksums. */
  private val remains = for {
    length <- Seq(0, 9, 4096)
    sums <- Seq(None, Some(0), Some(12))
  } yield (length, sums)

  private def stored(body: (Path, InitialOffset) => Unit): Unit = remains.foreach { case (length, sums) =>
    val directory = Files.createTempDirectory("initial").resolve("0")
    val initial = new InitialOffset(directory.toString, new Configuration())
    assert(initial.orElse("{\"n\":1}") == "{\"n\":1}" && initial.orElse(fail("it is stored")) == "{\"n\":1}")
    Files.write(directory.resolve("initial-offset"), new Array[Byte](length)): Unit
    val checksums = directory.resolve(".initial-offset.crc")
    Files.delete(checksums)
    sums.foreach(size => Files.write(checksums, new Array[Byte](size)))
    body(directory, initial)
  }

  test("a file of zeros is an error, if its value cannot be determined again") {
    stored { (_, initial) =>
      val error = intercept[EpochalException](initial.orElse("{\"n\":2}"))
      assert(error.condition == Conditions.OffsetInvalid)
    }
  }

  test("a file of zeros is written again, if its value is constant") {
    stored { (directory, initial) =>
      assert(initial.orElse("{\"n\":1}", constant = true) == "{\"n\":1}")
      assert(initial.orElse(fail("it is stored")) == "{\"n\":1}")
      assert(!directory.toFile.list().exists(_.startsWith(".initial-offset.0")))
    }
  }

  test("a value of another start is replaced until the query has logged an epoch, and is kept from then on") {
    val root = Files.createTempDirectory("initial")
    def initial = new InitialOffset(root.resolve("sources").resolve("0").toString, new Configuration())
    def started(own: String) = initial.orElse(own, fits = _ == own)
    assert(started("a") == "a" && started("b") == "b" && started("b") == "b")
    Files.createDirectory(root.resolve("offsets"))
    assert(started("c") == "c")
    Files.writeString(root.resolve("offsets").resolve("0"), "v1")
    assert(started("d") == "c")
    Files.createDirectory(root.resolve("epochal-offsets"))
    Files.move(root.resolve("offsets").resolve("0"), root.resolve("epochal-offsets").resolve("0-1"))
    assert(started("d") == "c")
    Files.delete(root.resolve("epochal-offsets").resolve("0-1"))
    Files.createDirectory(root.resolve("commits"))
    Files.writeString(root.resolve("commits").resolve("0"), "v1")
    assert(started("d") == "c")
  }

  test("a value of another start is kept once a real-time run has begun, and outside of a query's checkpoint") {
    val root = Files.createTempDirectory("initial")
    val ofQuery = new InitialOffset(root.resolve("sources").resolve("0").toString, new Configuration())
    assert(ofQuery.orElse("a") == "a")
    ofQuery.realTimeRuns.begin()
    assert(ofQuery.orElse("b", fits = _ == "b") == "a")
    val alone = new InitialOffset(root.resolve("0").toString, new Configuration())
    assert(alone.orElse("a") == "a" && alone.orElse("b", fits = _ == "b") == "a")
  }

  test("an inferred schema of a start that read nothing binds no later one") {
    val root = Files.createTempDirectory("initial")
    def fix(ddl: String): Unit = SchemaInference.fix(
      "a source",
      StructType.fromDDL(ddl),
      new InitialOffset(root.resolve("sources").resolve("0").toString, new Configuration()))
    fix("id INT")
    fix("name STRING")
    Files.writeString(Files.createDirectory(root.resolve("offsets")).resolve("0"), "v1")
    fix("name STRING")
    assert(intercept[EpochalException](fix("id INT")).condition == Conditions.SchemaChanged)
  }
}
