package io.epochal.kit.connector

import java.io.IOException
import java.util
import java.util.Optional
import java.util.concurrent.ConcurrentHashMap

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.Row
import org.apache.spark.sql.types.StructType

import io.epochal.core.option.OptionSpec
import io.epochal.kit.sink.row.BadValue

/** Stores in this JVM, by name: one transaction at a time, with simulated losses of connections and rows. */
object Shelves {
  final case class Content(rows: Vector[Long] = Vector.empty, ledger: Map[String, String] = Map.empty)

  final class Shelf {
    @volatile var content: Content = Content()
    private val losses = mutable.Queue.empty[Boolean]
    @volatile var swallows = false

    /** The next COMMIT loses its response, after it has taken effect or before. */
    def loseResponse(landed: Boolean): Unit = losses.enqueue(landed): Unit

    private[connector] def commit(next: Content): Unit = {
      val loss = losses.removeHeadOption()
      if (!loss.contains(false)) content = next
      if (loss.nonEmpty) throw new IOException("the connection was lost")
    }
  }

  private val shelves = new ConcurrentHashMap[String, Shelf]

  def shelf(name: String): Shelf = shelves.computeIfAbsent(name, _ => new Shelf)

  val Name: OptionSpec[String] = Options.text("shelf", "Name of the store.").asRequired

  private[connector] object NoNull extends RowCheck {
    override def check(row: Row): Unit = if (row.isNullAt(0)) throw new BadValue(0, BadValue.Missing)
  }
}

/** The smallest sink: one column of numbers. */
final class Shelves extends SinkConnector("shelf", "A store in memory.", util.List.of(Shelves.Name)) {
  override def place(settings: Settings): String = s"shelf:${settings.get(Shelves.Name)}"
  override def target(settings: Settings): String = "numbers"
  override def begin(settings: Settings, schema: StructType): StoreTransaction =
    new ShelfTransaction(Shelves.shelf(settings.get(Shelves.Name)))
  override def rowCheck(settings: Settings, schema: StructType): Optional[RowCheck] = Optional.of(Shelves.NoNull)
}

final private class ShelfTransaction(shelf: Shelves.Shelf) extends StoreTransaction {
  private var state = shelf.content

  override def lock(entry: String): String = state.ledger.getOrElse(entry, "")
  override def ledger(): util.Map[String, String] = state.ledger.asJava
  override def put(entry: String, text: String): Unit = state = state.copy(ledger = state.ledger.updated(entry, text))

  override def write(rows: util.Iterator[Row], replace: Boolean): Long = {
    val brought = rows.asScala.map(_.getLong(0)).toVector
    val kept = if (shelf.swallows) brought.drop(1) else brought
    state = state.copy(rows = (if (replace) Vector.empty else state.rows) ++ kept)
    kept.size.toLong
  }

  override def commit(): Unit = shelf.commit(state)
  override def close(): Unit = ()
}
