package io.epochal.jdbc.insert

import java.sql.Connection

import io.epochal.jdbc.database._
import io.epochal.kit.database.Sql
import io.epochal.kit.database.SqlText._
import io.epochal.kit.record.SourceColumn

/** Merges rows by key into the target.
  *
  * @param source
  *   SQL of the relation that has the rows; its columns are those of [[BoundTable.incoming]]
  */
abstract class KeyedMerge(
    dialect: Dialect,
    connection: Connection,
    table: BoundTable,
    upsert: WriteMode.Upsert,
    source: String)
    extends MergeSql(dialect, connection, table, upsert, source) {

  /** The epoch's rows of a change feed. Runs a query for the marks of TRUNCATE and of comparisons. */
  protected def feed: Option[Feed] =
    for (operation <- upsert.operation; columns <- operation.feed) yield new Feed(quote(operation.name), columns)

  /** SQL over the rows of a change feed.
    *
    * @param deletes
    *   the boolean of each row
    */
  final protected class Feed(val deletes: String, columns: FeedColumns) {
    private val version = quote(columns.versionName)
    private val unchangedColumn = quote(columns.unchangedName)
    private val key = quote(upsert.keys.head)

    private val isCompared = s"$version LIKE '${FeedColumns.Compared}%'"

    /** The versions of the last TRUNCATE, and of the beginning, the end and the last row of the last comparison; then the number of
      * changes.
      */
    private val (emptying, begin, end, last, changes) = {
      def newest(condition: String) = s"max(CASE WHEN $condition THEN ${bytes(version)} END)"
      val columns = Seq(
        newest(s"$deletes AND $key IS NULL AND NOT $isCompared"),
        newest(s"$deletes AND $key IS NULL AND $isCompared"),
        newest(s"NOT $deletes AND $key IS NULL AND $isCompared"),
        newest(isCompared),
        number(s"NOT $isCompared")
      )
      Sql
        .query(connection, s"SELECT ${columns.mkString(", ")} FROM $source AS s") { row =>
          val Seq(emptying, begin, end, last) = (1 to 4).map(i => Option(row.getString(i)))
          (emptying, begin, end, last, row.getLong(5))
        }
        .head
    }

    /** The version of the last row that empties the table. */
    def emptied: Option[String] = emptying

    /** Whether the target is corrected by the rows that it is compared with. */
    private val corrects =
      changes == 0 && begin.nonEmpty && end.exists(_.endsWith(FeedColumns.Corrected.toString))

    /** Changes the target, unless the rows are only compared.
      *
      * @param result
      *   of the comparison
      */
    def write(result: Option[Verification])(merge: => Loaded.Rows): Loaded =
      if (changes > 0) merge
      else result.filter(_.isReplaced).fold(Loaded.Rows(0L, 0L).verifying(result))(correct(_)(merge))

    /** Whether there are rows without keys, or that are only compared. */
    def hasMarks: Boolean = emptying.nonEmpty || last.nonEmpty

    /** The changes after the one that last emptied the table; or the rows that correct it. */
    val rows: String =
      if (corrects) comparedRows
      else {
        val later = emptied.fold("")(last => s" AND ${after(last)}")
        s"(SELECT * FROM $source AS s WHERE $key IS NOT NULL AND NOT $isCompared$later)"
      }

    private def comparedRows = s"(SELECT * FROM $source AS s WHERE $key IS NOT NULL AND ${after(begin.get)})"

    private def after(last: String): String = s"${bytes(version)} > ${literal(last)}"

    private def transaction(version: String): String = version.takeWhile(_ != '/')

    private def number(condition: String) = s"count(CASE WHEN $condition THEN 1 END)"

    /** The last row of each key; if they correct the target, those that differ from its rows, without deletes.
      *
      * @param equal
      *   compares the keys of `t` and `w`
      */
    def winners(equal: => String): String =
      if (!corrects) latest(rows, "true")
      else
        text"""(SELECT w.* FROM ${latest(rows, "true")} AS w LEFT JOIN $target AS t ON $equal
           |WHERE NOT w.$deletes AND ($lacks OR t.$key IS NULL OR NOT ($identical)))"""

    /** SQL that adds rows to a table, which has the winners: they delete rows of the target that the source lacks. */
    def removals(into: String): Option[String] = extraKeys.map(extra =>
      s"INSERT INTO $into (${list(upsert.keys)}, $deletes) SELECT ${list(upsert.keys)}, true FROM $extra AS e")

    /** Why rows that differ cannot be corrected, given a table with the keys of those to delete. */
    private def obstacle(extra: Option[String]): Option[String] = {
      def lacksKey = upsert.keys.map(name => s"e.${quote(name)} IS NULL").mkString(" OR ")
      if (table.deadLetters.nonEmpty) Some("bad rows are set aside")
      else if (!table.columnNames.forall((upsert.keys ++ upsert.updated).contains)) Some("updates leave columns out")
      else extra.filter(of => count(s"SELECT count(*) FROM $of AS e WHERE $lacksKey") > 0).map(_ => "a row has no key")
    }

    /** A temporary table of the keys of these. */
    private var extraKeys = Option.empty[String]

    /** A condition for rows without all columns. */
    val lacks: String = s"$unchangedColumn IS NOT NULL"

    /** Compares the winners with the target's rows, which they replace if a row of the feed empties it, in the same transaction of the
      * source. None: none does, or the target had no rows, or the feed has changes from before that row, so that they may differ. Rows
      * of later transactions are not compared. Must run before the target changes.
      *
      * @param from
      *   SQL of a table, which has the winners
      * @param equal
      *   compares the keys of `t` and `w`
      */
    def replacement(from: String, equal: String): Option[Verification] = emptied
      .filter(last =>
        count(
          s"SELECT count(*) FROM $source AS s WHERE $key IS NOT NULL AND ${bytes(version)} < ${literal(last)}") == 0)
      .flatMap { last =>
        val isOfIt = s"(NOT $lacks AND $version LIKE ${literal(s"${transaction(last)}/%")})"
        val isFound = s"t.$key IS NOT NULL"
        val counts =
          Seq("true", isFound, s"NOT $deletes AND $isOfIt", s"NOT $deletes AND $isOfIt AND $isFound") :+
            s"NOT $deletes AND $isOfIt AND $isFound AND $identical"
        val Seq(all, foundRows, rows, commonRows, equalRows) = Sql
          .query(
            connection,
            s"SELECT ${counts.map(number).mkString(", ")} FROM $from AS w LEFT JOIN $target AS t ON $equal")(row =>
            counts.indices.map(i => row.getLong(i + 1)))
          .head
        val before = count(s"SELECT count(*) FROM $target")
        def result = Replacement(equalRows, commonRows - equalRows, rows - commonRows, before - foundRows, all - rows)
        Option.when(before > 0 && rows > 0)(
          Verification(transaction(last), Right(result), isReplaced = true, isRequested = false))
      }

    /** Compares the target, or the range of a chunk, with the rows of the feed's last comparison, if it has one. Must run before the target
      * changes.
      *
      * @param equal
      *   compares the keys of `t` and `w`
      */
    def verification(equal: => String): Option[Verification] = last.map { newest =>
      val of = FeedColumns.sourceVersion(transaction(newest))
      val range = rangeOf(of)
      val result =
        if (changes > 0) Verification(of, Left("the epoch has other changes of the table"))
        else if (!end.contains(newest) || !begin.exists(transaction(_) == transaction(newest)))
          Verification(of, Left("the epoch has only a part of the rows"))
        else
          range
            .condition(quote, uuidOrder)
            .fold(reason => Verification(of, Left(reason)), compare(of, comparedRows, equal, _))
      result.copy(after = range.textOf(range.after), until = range.textOf(range.until))
    }

    /** The range of keys that is compared in a transaction. */
    private def rangeOf(of: String): KeyRange = {
      val columns = KeyRange.key(table, upsert.keys)
      val bounds = Seq(FeedColumns.After, FeedColumns.Until)
      val isBound = bounds.map(mark => s"$version LIKE '$mark%'").mkString(" OR ")
      val columnNames = (version +: columns.merge.map(key => quote(key.column.name))).mkString(", ")
      val rows = Sql.query(connection, s"SELECT $columnNames FROM $source AS s WHERE $isBound")(row =>
        transaction(row.getString(1)) -> columns.merge.indices.map(i => String.valueOf(row.getString(i + 2))))
      val Seq(lower, upper) =
        bounds.map(mark => rows.collectFirst { case (version, key) if version == s"$mark$of" => key })
      KeyRange(columns, lower, upper)
    }

    /** @param inRange
      *   SQL of the condition for the rows of a relation, given its alias
      */
    private def compare(transaction: String, rows: String, equal: String, inRange: String => String): Verification = {
      val lackingRows = count(s"SELECT count(*) FROM $rows AS r WHERE $lacks")
      val keyCount = count(s"SELECT count(*) FROM (SELECT DISTINCT $keys FROM $rows AS r) AS k")
      // Most tables do not change while they are copied.
      val newest = if (count(s"SELECT count(*) FROM $rows AS r") == keyCount) rows else latest(rows, "true")
      // Only rows that lack values are written once more.
      val from =
        if (lackingRows == 0) newest
        else temporary("verified", s"SELECT * FROM $newest AS r", Seq(upsert.keys.map(quote)))
      // The values that a row had under an earlier key are not looked for.
      def movedRows = count(s"SELECT count(*) FROM $rows AS r WHERE $hasMoved")
      if (lackingRows > 0 && movedRows == 0) complete(from, rows, equal)
      val isFound = s"t.$key IS NOT NULL"
      val isRow = s"NOT w.$deletes"
      val isDifferent = s"$isRow AND $isFound AND NOT $lacks AND NOT ($identical)"
      val isMissing = s"$isRow AND NOT $isFound"
      val outer = s"$from AS w LEFT JOIN $target AS t ON $equal AND ${inRange("t")}"
      val counts =
        Seq(s"$isRow AND $isFound", s"$isRow AND $isFound AND $lacks", isDifferent, isMissing, s"NOT (${inRange("w")})")
      val Seq(foundRows, partialRows, differentRows, missingRows, outsideRows) = Sql
        .query(connection, s"SELECT ${counts.map(number).mkString(", ")} FROM $outer")(row =>
          counts.indices.map(i => row.getLong(i + 1)))
        .head
      val extraRows = count(s"SELECT count(*) FROM $target AS t WHERE ${inRange("t")}") - foundRows
      val extra = Option.when(extraRows > 0) {
        val present =
          temporary("present", s"SELECT ${list(upsert.keys)} FROM $from AS w WHERE $isRow", Seq(upsert.keys.map(quote)))
        val columns = upsert.keys.map(name => s"t.${quote(name)}").mkString(", ")
        val others =
          s"FROM $target AS t LEFT JOIN $present AS w ON $equal WHERE w.$key IS NULL AND ${inRange("t")}"
        val extra = temporary("extra", s"SELECT $columns $others", Seq(upsert.keys.map(quote)))
        drop(present)
        extra
      }
      def keysOf(kind: String, rows: Long, of: String, where: String): Seq[String] = if (rows == 0) Nil
      else {
        val columns = upsert.keys.map(name => s"$of.${quote(name)}").mkString(", ")
        val examples =
          Sql.query(connection, s"SELECT $columns FROM $where ORDER BY $columns LIMIT ${KeyedMerge.Examples}")(row =>
            upsert.keys.indices.map(i => s"${upsert.keys(i)} ${row.getString(i + 1)}").mkString(", "))
        val more = if (rows > examples.size) Seq("...") else Nil
        Seq(s"$kind: ${(examples.map(key => s"($key)") ++ more).mkString(" ")}")
      }
      val result = Verification(
        transaction,
        Either.cond(
          outsideRows == 0,
          Replacement(foundRows - partialRows - differentRows, differentRows, missingRows, extraRows, partialRows),
          "the epoch has rows outside the range of the chunk"),
        keysOf("different", differentRows, "w", s"$outer WHERE $isDifferent") ++
          keysOf("missing", missingRows, "w", s"$outer WHERE $isMissing") ++
          keysOf("extra", extraRows, "t", s"${extra.getOrElse("")} AS t")
      )
      if (lackingRows > 0) drop(from)
      val reason = obstacle(extra).filter(_ => corrects)
      val isReplaced = corrects && reason.isEmpty && result.result.exists(!_.isEqual)
      if (isReplaced) extraKeys = extra else extra.foreach(drop)
      reason.filterNot(_ => result.isEqual).fold(result.copy(isReplaced = isReplaced))(result.withoutCorrection)
    }

    def isPartial: Boolean = count(s"SELECT count(*) FROM $rows AS r WHERE $lacks") > 0

    /** Gives the rows of a table, which has the winners, the values that earlier rows of their keys have. Then updates the target
      * by those that still do not have all columns.
      *
      * @param into
      *   SQL of the table
      * @param equal
      *   compares the keys of `t` and `w`
      * @return
      *   the number of rows that the target has
      */
    def update(into: String, equal: String): Long =
      partial(into, equal).map { case (condition, columns) =>
        val rows = s"(SELECT * FROM $into AS w WHERE $condition)"
        if (columns.isEmpty) count(s"SELECT count(*) FROM $target AS t JOIN $rows AS w ON $equal")
        else updateTarget(columns, rows, equal)
      }.sum

    /** Gives rows whose key changed, while the server left out some of their values, the values that they had under their earlier
      * keys: those of earlier rows, or of the target. Must run before the target changes.
      *
      * @param into
      *   SQL of a table, which has the winners
      * @param equal
      *   compares the keys of `t` and `w`
      * @return
      *   the number of rows whose values are nowhere
      */
    def followKeys(into: String, equal: String): Long = {
      def own(name: String): String = quote(table.table.unused(s"epochal_$name"))
      val (until, since, depth, next) = (own("until"), own("since"), own("depth"), own("next"))
      val keyNames = upsert.keys.map(quote)
      val earlierNames = upsert.keys.indices.map(i => own(s"key_$i"))
      def columnsOf(alias: String, names: Seq[String]): Seq[String] = names.map(name => s"$alias.$name")
      def as(values: Seq[String], names: Seq[String]): String =
        values.zip(names).map { case (value, name) => s"$value AS $name" }.mkString(", ")
      val ofKey = columnsOf("c", keyNames).mkString(", ")

      val inserts = s"FROM $rows AS r WHERE NOT $deletes AND $hasMoved"
      val insertedRows = count(s"SELECT count(*) $inserts")
      if (insertedRows == 0) 0L
      else {
        // An update of the key delivers two rows of one version: the first deletes the row of the earlier key.
        val insertTable = temporary("inserts", s"SELECT $keys, $version $inserts", Seq(Seq(version)))
        val pairs =
          s"$insertTable AS n JOIN (SELECT $keys, $version FROM $rows AS r WHERE $deletes) AS p ON p.$version = n.$version"
        val moves = temporary(
          "moves",
          text"""SELECT n.*, ${as(columnsOf("p", keyNames), earlierNames)},
           |  lead(n.$version) OVER (PARTITION BY ${columnsOf("n", keyNames).mkString(", ")} ORDER BY ${bytes(
              s"n.$version")}) AS $next
           |FROM $pairs AND NOT (${same(columnsOf("p", keyNames), columnsOf("n", keyNames))})""",
          Seq(keyNames)
        )
        // The keys that a row has had, the last one first, each from one version until another.
        val history = temporary(
          "history",
          text"""WITH RECURSIVE c (${(keyNames ++ earlierNames :+ until :+ depth).mkString(", ")}) AS (
             |  SELECT $keys, $keys, $version, 0 FROM $into AS w WHERE NOT $deletes AND $lacks
             |  UNION ALL
             |  SELECT $ofKey, ${columnsOf("m", earlierNames).mkString(
              ", ")}, m.$version, c.$depth + 1 FROM c JOIN $moves AS m
             |  ON ${same(columnsOf("m", keyNames), columnsOf("c", earlierNames))} AND ${bytes(
              s"m.$version")} <= c.$until
             |  AND (m.$next IS NULL OR ${bytes(s"m.$next")} > c.$until))
             |SELECT c.*, lead(c.$until) OVER (PARTITION BY $ofKey ORDER BY c.$depth) AS $since FROM c""",
          Seq(keyNames, earlierNames)
        )
        for ((name, mark) <- columnsLeft(into)) {
          val place = own("place")
          val ofEpoch =
            text"""(SELECT $keys, $name FROM (
               |  SELECT $ofKey, r.$name, row_number() OVER (PARTITION BY $ofKey ORDER BY ${bytes(
                s"r.$version")} DESC) AS $place
               |  FROM $history AS c JOIN $rows AS r ON ${same(columnsOf("r", keyNames), columnsOf("c", earlierNames))}
               |  AND ${bytes(s"r.$version")} <= c.$until AND (c.$since IS NULL OR ${bytes(s"r.$version")} >= c.$since)
               |  WHERE NOT r.$deletes AND ${isPresent(mark, "r.")}) AS f WHERE $place = 1)"""
          val ofTarget =
            text"""(SELECT ${as(columnsOf("w", earlierNames), keyNames)}, t.$name FROM $target AS t JOIN (
               |  SELECT ${as(columnsOf("c", earlierNames), keyNames)}, ${as(columnsOf("c", keyNames), earlierNames)}
               |  FROM $history AS c WHERE c.$since IS NULL AND c.$depth > 0) AS w ON $equal)"""
          Seq(ofEpoch, ofTarget).foreach(values => fill(into, name, mark, values, equal))
        }
        run(s"UPDATE $into SET $unchangedColumn = substr($unchangedColumn, 2) WHERE $hasMoved")
        run(s"UPDATE $into SET $unchangedColumn = NULL WHERE $unchangedColumn = ''")
        val pairedRows = count(s"SELECT count(*) FROM $pairs")
        insertedRows - pairedRows +
          count(text"""SELECT count(*) FROM (SELECT * FROM $into AS s WHERE NOT $deletes AND $lacks) AS w
             |JOIN (SELECT $keys FROM $history AS c WHERE $depth = 1) AS t ON $equal""")
      }
    }

    /** Fills a column of rows that lack it. */
    private def fill(into: String, name: String, mark: String, values: String, equal: String): Unit = {
      val sets = Seq(name -> s"t.$name", unchangedColumn -> s"replace(w.$unchangedColumn, $mark, '')")
      run(updateRows(into, sets, values, s"$equal AND ${lists(s"w.$unchangedColumn", mark)} AND NOT w.$deletes"))
    }

    private val hasMoved = s"substr($unchangedColumn, 1, 1) = ${literal(FeedColumns.Moved)}"

    /** Whether a row's list has a mark; NULL without a list. */
    private def lists(list: String, mark: String): String = s"replace($list, $mark, '') <> $list"

    private def isPresent(mark: String, alias: String = ""): String =
      s"($alias$unchangedColumn IS NULL OR NOT ${lists(s"$alias$unchangedColumn", mark)})"

    /** For each set of columns that rows do not have: a condition for these rows as `w`, and the other columns. */
    private def partial(into: String, equal: String): Seq[(String, Seq[String])] = {
      complete(into, rows, equal)
      Sql
        .query(
          connection,
          s"SELECT DISTINCT $unchangedColumn FROM $into WHERE $unchangedColumn IS NOT NULL AND NOT $deletes")(
          _.getString(1))
        .map { left =>
          val present = table.columns.filterNot(bound => left.contains(mark(bound)))
          (s"w.$unchangedColumn = ${literal(left)}", upsert.updated.filter(present.map(_.column.name).contains))
        }
    }

    /** Gives the winners of rows, which lack some columns, the values that earlier rows of their keys have. */
    private def complete(into: String, rows: String, equal: String): Unit = {
      for ((name, mark) <- columnsLeft(into))
        fill(into, name, mark, latest(rows, s"NOT $deletes AND ${isPresent(mark)}"), equal)
      run(s"UPDATE $into SET $unchangedColumn = NULL WHERE $unchangedColumn = ''")
    }

    /** The rows that have all columns. */
    def whole(from: String): String = s"(SELECT * FROM $from AS w WHERE $unchangedColumn IS NULL)"

    private def mark(bound: BoundColumn): String = FeedColumns.mark(SourceColumn.nameOf(bound.field))

    /** SQL of the columns that some rows lack, each with its mark. Asks about one after the other. */
    private def columnsLeft(into: String): Iterator[(String, String)] = for {
      bound <- table.columns.iterator
      ofColumn = literal(mark(bound))
      if count(s"SELECT count(*) FROM $into WHERE ${lists(unchangedColumn, ofColumn)}") > 0
    } yield quote(bound.column.name) -> ofColumn

    /** Selects the later image of an update, which does not delete. */
    private def latest(from: String, condition: String): String =
      first(s"$from AS r WHERE $condition", s"${bytes(version)} DESC, $deletes")
  }
}

private object KeyedMerge {

  /** Maximum keys shown for each kind of difference. */
  val Examples = 10
}
