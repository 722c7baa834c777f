package io.epochal.kit.connector

import java.util
import java.util.Optional

import scala.annotation.unused
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.epochal.core.annotation.Stable
import io.epochal.core.error.EpochalException
import io.epochal.core.option.{OptionGroup, OptionList, OptionSpec, OptionType, OptionValues, RetryOptions}
import io.epochal.kit.access.DriverAccess
import io.epochal.kit.sink.{AsynchronousProgress, IdentityOptions, SinkProvider, SinkSettings}
import io.epochal.kit.spark.SinkEngine

/** A sink connector: `format("…")` for streams, with each row written exactly once, and for batch writes, each in one
  * transaction. Its author implements the system's transactions ([[StoreTransaction]]). The kit decides whether an epoch is new
  * and who may write, and provides fencing, digests, recovery from a lost COMMIT response, retries and metrics.
  *
  * The author's class extends this one, has a public constructor without parameters, and is named in the resource
  * `META-INF/services/org.apache.spark.sql.sources.DataSourceRegister`. It must be stateless.
  *
  * Rows travel from the tasks to the driver in commit messages, or in files if there are many; only the driver writes.
  *
  * Not guaranteed: a target that was dropped and recreated under its name is not detected; update mode is append; continuous
  * and real-time triggers are rejected.
  *
  * @param format
  *   the short name for `format`
  * @param description
  *   one sentence for the documentation
  * @param specs
  *   the connector's own options
  */
@Stable
abstract class SinkConnector(format: String, description: String, specs: util.List[OptionSpec[_]])
    extends SinkProvider[Settings](OptionGroup(format, description, specs.asScala.toSeq ++ SinkOptions.all)) {

  /** The system, for messages: an address without secrets. Two addresses that share a ledger must return the same text. */
  def place(settings: Settings): String

  /** The name of the target, unique in the system: a table, a collection. Two sinks with the same target are rejected. */
  def target(settings: Settings): String

  /** Rejects options and columns that cannot work, before a query starts: throws an exception that `Settings` creates. */
  def check(@unused settings: Settings, @unused schema: StructType): Unit = ()

  /** Creates the ledger's table and the target if they are missing. Called before a run's first transaction. */
  def prepare(@unused settings: Settings, @unused schema: StructType): Unit = ()

  /** Connects and opens a transaction, on the driver. */
  def begin(settings: Settings, schema: StructType): StoreTransaction

  /** Checks each row in its task. The default: all rows can be written. */
  def rowCheck(@unused settings: Settings, @unused schema: StructType): Optional[RowCheck] = Optional.empty()

  /** Whether the whole transaction may succeed on retry after this failure. The default: network failures. */
  def isTransient(error: Exception): Boolean = AuthorCalls.isOfNetwork(error)

  /** Whether a `commit` that failed with this error may have taken effect. The default: network failures. */
  def losesConnection(error: Exception): Boolean = AuthorCalls.isOfNetwork(error)

  /** Called by a read, and by a CREATE TABLE without columns. */
  final override def inferSchema(options: CaseInsensitiveStringMap): StructType = throw group.unsupported(
    "infer columns",
    "it is a sink, which is not read",
    "A CREATE TABLE must name its columns. Read with a format that is a source.")

  final override protected def unpartitioned: (String, String) =
    "the target is one" -> "Leave partitionBy out."

  final override protected def options(raw: Map[String, String]): Either[EpochalException, Settings] =
    for {
      settings <- SettingsReader.read(group, raw)
      _ <- AsynchronousProgress
        .refused(group, raw, "an epoch's offsets must be logged before its rows are committed")
      _ <- DriverAccess.checked { access =>
        settings.values
          .get(SinkOptions.SpillDirectory)
          .foreach(access.directory(SinkOptions.SpillDirectory.name, _))
      }
    } yield settings

  final override protected def table(schema: StructType, settings: Settings): Table = {
    check(settings, schema)
    new StoreTable(this, settings, schema, SinkEngine.OfActiveSession)
  }
}

private[connector] object SinkOptions extends OptionList {

  val InlineMaxBytes = option("inlineMaxBytes", OptionType.bytes, Some(64L << 20))(
    "Bytes of an epoch that may travel in commit messages; tasks whose share has more write files.")
  val SpillDirectory = option("spillDirectory", OptionType.string, sample = Some("s3a://bucket/spill"))(
    "Directory, on a file system that driver and executors reach, for those files. Unset: the checkpoint; for a batch in local mode a temporary directory, and on a cluster none.")

  override def all: Seq[OptionSpec[_]] = IdentityOptions.all ++ super.all ++ RetryOptions.all

  def settings(values: OptionValues): SinkSettings = IdentityOptions.settings(values, InlineMaxBytes, SpillDirectory)
}
