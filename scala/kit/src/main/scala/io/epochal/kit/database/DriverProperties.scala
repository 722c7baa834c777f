package io.epochal.kit.database

import java.nio.charset.StandardCharsets.UTF_8

import scala.util.Using

/** Effects of the properties of JDBC drivers, from the resource `driver-properties.txt`, whose header explains it. */
private[epochal] object DriverProperties {

  private val lines: Seq[(String, Seq[String])] =
    Using.resource(getClass.getResourceAsStream("driver-properties.txt")) { in =>
      new String(in.readAllBytes(), UTF_8).linesIterator
        .map(_.trim)
        .filterNot(line => line.isEmpty || line.startsWith("#"))
        .map(_.split(" +").toSeq)
        .map(words => words.head -> words.tail)
        .toVector
    }

  def names(kind: String): Set[String] = lines.collect { case (`kind`, property) => property }.flatten.toSet

  /** The class of the usual driver for a URL, and its jar's artifact if Epochal does not ship it. */
  def driver(url: String): Option[(String, Option[String])] = {
    val scheme = DriverRisks.scheme(url)
    lines.collectFirst { case ("driver", Seq(`scheme`, className, artifact @ _*)) => (className, artifact.headOption) }
  }

  def values(kind: String): Map[String, Set[String]] =
    lines.collect { case (`kind`, name +: values) => name -> values }.groupMapReduce(_._1)(_._2.toSet)(_ ++ _)
}
