package io.epochal.testkit

import java.nio.file.{Files, Path}

import org.scalatest.funsuite.AnyFunSuite

import io.epochal.testkit.report.Promise

/** The lists of promises. */
final class PromisesSuite extends AnyFunSuite {

  private val lists = Seq(PromisesSuite.of(SourcePromises), PromisesSuite.of(SinkPromises))

  test("no two promises of a source, and none of a sink, have the same name") {
    lists.foreach(promises => assert(promises.map(_.name).distinct.size == promises.size))
  }

  test("the kit's page lists every promise") {
    val page = Files.readString(Path.of(System.getProperty("epochal.root"), "docs", "testkit.md"))
    lists.flatten.foreach(promise => assert(page.contains(s"`${promise.name}`"), promise))
  }
}

object PromisesSuite {

  /** All promises that an object declares. */
  def of(promises: AnyRef): Seq[Promise] =
    promises.getClass.getMethods.toSeq
      .filter(_.getReturnType == classOf[Promise])
      .map(_.invoke(promises).asInstanceOf[Promise])
}
