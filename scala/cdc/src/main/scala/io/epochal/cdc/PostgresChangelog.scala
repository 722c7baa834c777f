package io.epochal.cdc

import java.util.Locale

import scala.jdk.CollectionConverters._
import scala.jdk.OptionConverters._

import org.apache.spark.sql.connector.catalog.ChangelogContext.DeduplicationMode
import org.apache.spark.sql.connector.catalog.ChangelogRange.{TimestampRange, VersionRange}
import org.apache.spark.sql.connector.catalog.{Changelog, ChangelogContext, ChangelogRange, Column, Identifier}
import org.apache.spark.sql.connector.expressions.{Expressions, NamedReference}
import org.apache.spark.sql.connector.read.ScanBuilder
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.epochal.cdc.change.OnTruncate
import io.epochal.cdc.value.ValueReader
import io.epochal.kit.access.PlanRedaction
import io.epochal.kit.database.Sql

/** The changes of a table, for `CHANGES` of Spark 4.2: every update with both images. */
final private class PostgresChangelog(options: CdcOptions, tables: CdcTables, range: CommitRange) extends Changelog {
  private val CdcTable(table, fields) = tables.only
  private val (all, binary) = CdcProvider.select(tables.only, ValueReader.schema(table.name, fields), preimages = true)

  /** Of the key's columns Spark requires that they are not nullable. */
  private val schema = StructType(
    all
      // With REPLICA IDENTITY FULL the server sends every value.
      .filter(_.name != "_unchanged_columns")
      .map(field => field.copy(nullable = field.nullable && !table.primaryKey.contains(field.name))))

  override def name: String = s"${CdcOptions.Format}[${options.source}]"
  override def columns: Array[Column] = schema.map(f => Column.create(f.name, f.dataType, f.nullable)).toArray
  override def containsCarryoverRows: Boolean = false
  override def representsUpdateAsDeleteAndInsert: Boolean = false

  /** Spark requires a key then. Without one, net changes are refused. */
  override def containsIntermediateChanges: Boolean = table.primaryKey.nonEmpty

  override def rowId: Array[NamedReference] =
    table.primaryKey.map(name => Expressions.column(s"`${name.replace("`", "``")}`")).toArray

  override def newScanBuilder(read: CaseInsensitiveStringMap): ScanBuilder =
    new CdcScanBuilder(options, tables, schema, binary, Some(range))
}

private object PostgresChangelog {

  /** @param defaults
    *   options of the catalog
    * @throws io.epochal.core.error.EpochalException
    *   CAPTURE_NOT_READY for a table without REPLICA IDENTITY FULL
    */
  def load(
      defaults: Map[String, String],
      table: Identifier,
      context: ChangelogContext,
      read: CaseInsensitiveStringMap): Changelog = {
    PlanRedaction.hide(CdcOptions.group, read)
    val own = read.asCaseSensitiveMap.asScala.toMap.filterNot(option => isOther(option._1))
    val other = defaults.filterNot(option => isOther(option._1) || own.keys.exists(_.equalsIgnoreCase(option._1)))
    val name = (table.namespace :+ table.name).map(Sql.quoted).mkString(".")
    val raw = other ++ own + (CdcOptions.DbTable.name -> name) + (CdcOptions.Preimages.name -> "true")
    val options = CdcOptions.read(raw).fold(throw _, identity)
    if (options.onTruncate == OnTruncate.Emit)
      throw CdcOptions.group
        .invalid(CdcOptions.Truncates, OnTruncate.Emit.name, "fail or ignore: CHANGES has no row for a TRUNCATE")
    val tables = CdcTables.find(options)
    new ServerCheck(options, options.server, tables).requireReady()
    if (context.deduplicationMode == DeduplicationMode.NET_CHANGES && tables.only.facts.primaryKey.isEmpty)
      throw CdcOptions.group.unsupported(
        s"collapse the changes of ${tables.names} with deduplicationMode=netChanges",
        "the table has no primary key",
        "Add a primary key, or leave deduplicationMode out.")
    new PostgresChangelog(options, tables, rangeOf(context.range))
  }

  /** Options of the read for Spark itself, and those that the catalog sets. */
  private def isOther(option: String): Boolean = Others(option.toLowerCase(Locale.ROOT))

  private val Others = Set(
    "startingversion",
    "endingversion",
    "startingtimestamp",
    "endingtimestamp",
    "startingboundinclusive",
    "endingboundinclusive",
    "deduplicationmode",
    "computeupdates",
    "dbtable",
    "preimages",
    "rows"
  )

  private def rangeOf(range: ChangelogRange): CommitRange = range match {
    case versions: VersionRange =>
      CommitRange(
        version(versions.startingVersion, isAfter = !versions.startingBoundInclusive),
        versions.endingVersion.toScala.fold(CommitVersion.Last)(version(_, isAfter = versions.endingBoundInclusive)))
    case _: TimestampRange =>
      throw CdcOptions.group.unsupported(
        "read the changes of a range of time",
        "a slot does not know when its first change was committed, so that some could be missing",
        "Leave the range out, or give versions; select by _commit_timestamp."
      )
    case _ => CommitRange.All
  }

  private def version(text: String, isAfter: Boolean): CommitVersion =
    CommitVersion.read(text, isAfter).getOrElse {
      throw CdcOptions.group.unsupported(
        s"read changes from or to the version '$text'",
        "it is no _commit_version and no position of the log",
        "Write a version such as '00000000016B3748/0000000000', or '0/16B3748'.")
    }
}
