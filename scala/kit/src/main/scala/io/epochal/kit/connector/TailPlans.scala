package io.epochal.kit.connector

import java.nio.charset.StandardCharsets.UTF_8

import scala.jdk.CollectionConverters._
import scala.util.{Try, Using}

import com.fasterxml.jackson.databind.ObjectMapper

import io.epochal.kit.store.HadoopFileStore

/** The tasks that follow an origin after an offset.
  *
  * @param start
  *   the offset, as it is logged
  * @param tails
  *   where each task begins, encoded, in the order of the tasks
  */
final private[connector] case class TailPlan(start: String, tails: Seq[String])

/** Keeps the last plan whose tasks a sink counts, where their order does not follow from the offset before: the first plan of a
  * query, and those in which an origin has divided its rows in another way.
  *
  * A plan is a file in the source's part of the checkpoint, `tails/<number, 19 digits>.json`, with
  * `{"v":1,"start":"<offset>","tails":["<position>",…]}` on one line. It is written once, and valid if and only if the line is
  * complete; the valid file with the highest number counts.
  */
final private[connector] class TailPlans(store: HadoopFileStore) {
  import TailPlans._

  /** The order of the tasks that began at an offset; None if it was not kept. */
  def after(start: String): Option[Seq[String]] = last.filter(_.start == start).map(_.tails)

  def keep(plan: TailPlan): Unit = {
    val earlier = numbers
    val bytes = text(plan).getBytes(UTF_8)
    Using.resource(store.create(name(earlier.maxOption.fold(1L)(_ + 1)))) { file =>
      file.write(bytes, 0, bytes.length)
      file.sync()
    }
    earlier.foreach(number => Try(store.delete(name(number))))
  }

  private def last: Option[TailPlan] =
    numbers.sorted.reverseIterator.flatMap(number => parse(new String(store.content(name(number)), UTF_8))).nextOption()

  private def numbers: Seq[Long] = store.names().collect { case Name(digits) => digits.toLong }
}

private object TailPlans {
  private val Name = "(\\d{19})[.]json".r
  private val mapper = new ObjectMapper

  private def name(number: Long): String = s"${"%019d".formatLocal(java.util.Locale.ROOT, number)}.json"

  private def text(plan: TailPlan): String = {
    val fields = mapper.createObjectNode().put("v", 1).put("start", plan.start)
    val tails = fields.putArray("tails")
    plan.tails.foreach(tail => tails.add(tail))
    s"${mapper.writeValueAsString(fields)}\n"
  }

  private def parse(text: String): Option[TailPlan] = Option.when(text.endsWith("\n")) {
    val fields = mapper.readTree(text)
    TailPlan(fields.path("start").asText, fields.path("tails").elements().asScala.map(_.asText).toVector)
  }
}
