package io.epochal.support

import java.util.SplittableRandom
import java.util.concurrent.TimeUnit.SECONDS
import java.util.concurrent.{ExecutionException, Executors, TimeUnit, TimeoutException}

import scala.util.{Random, Try}

import org.scalatest.funsuite.AnyFunSuite

import io.epochal.core.error.EpochalException

/** Fuzz tests: random rounds for EPOCHAL_FUZZ_SECONDS per test. A round depends only on its seed, which a failure shows;
  * EPOCHAL_FUZZ_SEED starts with that round.
  */
trait Fuzz { this: AnyFunSuite =>

  /** @param round
    *   one attack; any exception except an [[EpochalException]] fails the test
    * @return
    *   the test prints how many rounds ended without an error, and how many with each condition
    */
  protected def fuzz(name: String)(round: Random => Unit): Unit = test(name) {
    val first = sys.env.get("EPOCHAL_FUZZ_SEED").fold(System.nanoTime())(_.toLong)
    val end = System.nanoTime() + SECONDS.toNanos(Fuzz.Seconds)
    var outcomes = Map.empty[String, Seq[String]].withDefaultValue(Nil)
    val rounds = Iterator.from(0).takeWhile(n => n == 0 || System.nanoTime() < end)
    rounds.foreach { n =>
      val (outcome, text) =
        withClue(s"EPOCHAL_FUZZ_SEED=${first + n}: ")(within(Fuzz.RoundSeconds)(round(Fuzz.random(first + n))))
      outcomes = outcomes.updated(outcome, outcomes(outcome) :+ text)
    }
    info(outcomes.toSeq.sortBy(-_._2.size).map { case (outcome, all) => s"${all.size} $outcome" }.mkString(", "))
    // If all attacks fail, or none, the test is useless.
    if (outcomes.values.map(_.size).sum >= 100)
      assert(outcomes.size > 1 && outcomes.contains(Fuzz.Fine), outcomes.values.map(_.head))
  }

  /** Runs the body in a new thread, to report the stack of one that hangs. Returns "fine" or the name of the condition, with its
    * message.
    */
  private def within(seconds: Long)(body: => Unit): (String, String) = {
    val executor = Executors.newSingleThreadExecutor { (task: Runnable) =>
      val thread = new Thread(task, "fuzz")
      thread.setDaemon(true)
      thread
    }
    try {
      val running = executor.submit[(String, String)] { () =>
        try {
          body
          Fuzz.Fine -> ""
        } catch { case error: EpochalException => named(error) }
      }
      try running.get(seconds, TimeUnit.SECONDS)
      catch {
        case failed: ExecutionException => fail(s"${failed.getCause}", failed.getCause)
        case _: TimeoutException =>
          val stacks = Thread.getAllStackTraces
          val stack = stacks.keySet.toArray(Array.empty[Thread]).filter(_.getName == "fuzz").flatMap(stacks.get(_))
          fail(stack.mkString(s"still running after $seconds s:\n", "\n", ""))
      }
    } finally executor.shutdownNow(): Unit
  }

  private def named(error: EpochalException): (String, String) = {
    val text = error.getMessage
    if (text.contains(Fuzz.Secret)) fail(s"contains a secret: $text")
    if (text.length > Fuzz.MaxMessage) fail(s"${text.length} characters: ${text.take(1000)}")
    error.condition.name -> text
  }
}

object Fuzz {
  private val Seconds: Long = sys.env.get("EPOCHAL_FUZZ_SECONDS").flatMap(s => Try(s.toLong).toOption).getOrElse(1)
  private val RoundSeconds = 60L
  private val MaxMessage = 30000
  private val Fine = "fine"

  /** Scrambles the seed: with consecutive seeds, the first numbers of `Random` would be similar. */
  def random(seed: Long): Random = new Random(new SplittableRandom(seed).nextLong())

  /** Secret that no error may contain. */
  val Secret = "hunter2"

  /** Random subset of the values, in order; sometimes all or none. */
  def some[A](random: Random, all: Seq[A]): Seq[A] = {
    val share = random.nextDouble()
    all.filter(_ => random.nextDouble() < share)
  }

  def one[A](random: Random, all: Seq[A]): A = all(random.nextInt(all.size))

  /** The bytes with up to `most` random changes: replaced, removed, duplicated, truncated, or replaced by one of the words. */
  def changed(random: Random, bytes: Array[Byte], most: Int, words: Seq[String]): Array[Byte] =
    (0 until random.nextInt(most + 1)).foldLeft(bytes) { (text, _) =>
      if (text.isEmpty) text
      else {
        val at = random.nextInt(text.length)
        val until = math.min(text.length, at + 1 + random.nextInt(1 << random.nextInt(8)))
        random.nextInt(6) match {
          case 0 => text.updated(at, random.nextInt(256).toByte)
          case 1 => text.patch(at, Nil, until - at)
          case 2 => text.patch(at, text.slice(at, until) ++ text.slice(at, until), until - at)
          case 3 => text.take(at)
          case 4 => text.patch(at, one(random, words).getBytes("UTF-8"), until - at)
          case _ => text.patch(at, one(random, words).getBytes("UTF-8"), 0)
        }
      }
    }
}
