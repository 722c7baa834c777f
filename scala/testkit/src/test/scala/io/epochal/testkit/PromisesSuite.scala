package io.epochal.testkit

import java.nio.file.{Files, Path}

import org.scalatest.funsuite.AnyFunSuite

/** The lists of promises. */
final class PromisesSuite extends AnyFunSuite {

  private val lists = Seq(
    SourcePromises.ofStreams ++ SourcePromises.ofQueries ++ SourcePromises.ofKills,
    SinkPromises.ofQueries ++ SinkPromises.ofKills ++ SinkPromises.ofModes,
    SinkPromises.ofEpochs)

  test("no two promises of a conformance have the same name") {
    lists.foreach(promises => assert(promises.map(_.name).distinct.size == promises.size))
  }

  test("the kit's page lists every promise") {
    val page = Files.readString(Path.of(System.getProperty("epochal.root"), "docs", "testkit.md"))
    lists.flatten.foreach(promise => assert(page.contains(s"`${promise.name}`"), promise))
  }
}
