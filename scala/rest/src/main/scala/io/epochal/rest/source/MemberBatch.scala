package io.epochal.rest.source

import java.util.concurrent.{Callable, ExecutionException}

import scala.util.Using

import io.epochal.core.error.EpochalException

/** The lists of a batch read, as the parents name them when it is planned. */
final private[rest] class MemberBatch(requests: MemberRequests) {
  import requests.lineage

  private val leaf = lineage.levels.size - 1
  final private val MaxTried = 100

  /** The requests of each list, whose pages are followed.
    *
    * @throws EpochalException
    *   HTTP_STATUS, if none of them exists
    */
  def members(): Seq[ListRequests] = {
    val candidates = lists().map(lineage.leaf.first)
    val missing = candidates.iterator.map(requests.goneError(leaf, _)).takeWhile(_.nonEmpty).flatten.toVector
    if (missing.nonEmpty && missing.size == candidates.size) throw missing.head
    candidates.map(one => one.copy(paging = one.paging.asChain))
  }

  /** The first list whose first page has records, among the first `MaxTried`. */
  def first(): Option[ListRequests] = lists().iterator.take(MaxTried).map(lineage.leaf.first).find { list =>
    try Using.resource(requests.reader(leaf, list))(reader => reader.hasNext && reader.next().records > 0)
    catch { case error: EpochalException if requests.isGone(leaf, list, None, error) => false }
  }

  /** The values of all lists of the last level. */
  private def lists(): Seq[Map[String, String]] =
    (0 until leaf).foldLeft(Seq(Map.empty[String, String])) { (above, level) =>
      val read = parallel(above)(children(level, _))
      val missing = read.flatMap(_.left.toOption)
      if (missing.nonEmpty && missing.size == read.size) throw missing.head
      read.flatMap(_.getOrElse(Nil)).distinctBy(MemberTable.key(lineage.keys(level + 1), _))
    }

  /** The lists that one list names; Left: it is gone. */
  private def children(level: Int, params: Map[String, String]): Either[EpochalException, Seq[Map[String, String]]] = {
    val list = lineage.levels(level).first(params)
    try
      Right(Using.resource(requests.reader(level, list)) { reader =>
        reader.deliveries.flatMap(_ => requests.children(level, list, reader.page, params)((_, _) => ())).toVector
      })
    catch {
      case error: EpochalException if level > 0 && requests.isGone(level, list, None, error) => Left(error)
    }
  }

  private def parallel[A, B](items: Seq[A])(body: A => B): Seq[B] =
    items
      .grouped(requests.connections)
      .flatMap { some =>
        val running = some.map(item => requests.threads.submit((() => body(item)): Callable[B]))
        try running.map(_.get())
        catch { case e: ExecutionException => throw e.getCause }
        finally running.foreach(_.cancel(true))
      }
      .toVector
}
