package io.epochal.cdc.slot

import java.lang.Long.parseUnsignedLong
import java.sql.{Connection, SQLException}

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper

import io.epochal.kit.database.Sql
import io.epochal.kit.database.SqlText._

/** An entry of the server's catalog that decides what the log shows of the captured tables.
  *
  * @param kind
  *   publication, object (a table's entry in the publication), column, unread (a column that the query does
  *   not read), logged (a column all of whose values are in the log), file (of the table or of a partition),
  *   label (of an enum), order (of a label), attribute (of a composite type)
  * @param subject
  *   OID of the table or of the type; 0: of the publication
  * @param id
  *   identifies the entry within the subject: an OID, or the number of a column
  * @param mark
  *   number of the transaction that wrote the entry. It has 32 bits: it is compared for equality only
  */
final private[cdc] case class Fact(kind: String, subject: Long, id: String, name: String, value: String, mark: String) {

  /** Of a file: `pg_class.relfilenode`. */
  def file: String = value.takeWhile(_ != ' ')

  def isEmpty: Boolean = value.endsWith(" empty")

  /** Of a column: whether its type may be, or contain, one that a user has created. */
  def isOfUser: Boolean = kind == "column" && parseUnsignedLong(value.takeWhile(_ != ':')) >= CatalogFacts.FirstOfUsers

  /** Of a partition: whether it was created as one, so that it had no rows before. */
  def isCreated: Boolean = mark.endsWith(" created")
}

/** The entries of the catalog at one moment.
  *
  * @param since
  *   the lower 32 bits of a transaction number: every older transaction had ended
  */
final private[cdc] case class CatalogFacts(since: Long, all: Seq[Fact]) {

  private lazy val bySubject = all.groupBy(fact => (fact.kind, fact.subject))

  def of(kind: String, subject: Long): Seq[Fact] = bySubject.getOrElse((kind, subject), Nil)

  def columns(table: Long): Seq[Fact] = of("column", table) ++ of("unread", table)

  def subjects(kind: String): Seq[Long] = all.filter(_.kind == kind).map(_.subject).distinct

  private lazy val files = all.filter(_.kind == "file").map(fact => fact.id -> fact.file).toMap

  /** The files that others have replaced. */
  def replaced(before: CatalogFacts): Seq[Fact] =
    all.filter(fact => fact.kind == "file" && before.files.get(fact.id).exists(_ != fact.file))

  /** With the columns all of whose values are in the log in place of the filled ones: columns that were added since an earlier
    * moment without a value for older rows. A server writes such values into new files, or keeps one in the catalog until the
    * next new file.
    */
  private def withLogged(earlier: CatalogFacts): CatalogFacts = {
    val whole = for {
      table <- earlier.subjects("file")
      hasOldFiles = of("file", table).forall(file => Set(earlier.files.getOrElse(file.id, file.id), "0")(file.file))
      (old, filled) = (earlier.columns(table).map(_.id).toSet, of("filled", table).map(_.id).toSet)
      column <- columns(table)
      wasLogged = earlier.of("logged", table).find(one => one.id == column.id && one.name == column.name)
      if (if (old(column.id)) wasLogged.exists(hasOldFiles || _.mark == column.mark)
          else hasOldFiles && !filled(column.id))
    } yield column.copy(kind = "logged", value = "")
    copy(all = all.filterNot(_.kind == "filled") ++ whole)
  }

  def toBytes: Array[Byte] = {
    val fields = CatalogFacts.mapper.createObjectNode().put("v", 1).put("since", since)
    val array = fields.putArray("facts")
    all.foreach { case Fact(kind, subject, id, name, value, mark) =>
      array.addArray().add(kind).add(subject).add(id).add(name).add(value).add(mark)
    }
    CatalogFacts.mapper.writeValueAsBytes(fields)
  }
}

private[cdc] object CatalogFacts {
  private val mapper = new ObjectMapper
  private val InsufficientPrivilege = "42501"

  /** Lower OIDs are of objects that the server has from the start. */
  private[slot] val FirstOfUsers = 16384L

  def read(bytes: Array[Byte]): CatalogFacts = {
    val fields = mapper.readTree(bytes)
    require(fields.path("v").asInt == 1, s"facts of version ${fields.path("v")}, and this release reads version 1")
    val facts = fields.path("facts").elements.asScala.map { fact =>
      def text(i: Int) = fact.get(i).textValue
      Fact(text(0), fact.get(1).longValue, text(2), text(3), text(4), text(5))
    }
    CatalogFacts(fields.path("since").longValue, facts.toVector)
  }

  /** @param tables
    *   OIDs of the captured tables
    * @param columns
    *   of each table, whose types count; None: all
    * @param earlier
    *   the entries at an earlier moment, to which `logged` columns refer
    */
  def of(
      connection: Connection,
      tables: Seq[Long],
      publication: String,
      columns: Option[Map[Long, Set[String]]],
      earlier: Option[CatalogFacts] = None): CatalogFacts = {
    // Taken first: the query may wait for a lock, and does not show a transaction that ends meanwhile.
    val before = since(connection)
    val list = tables.mkString("{", ",", "}")
    val isChosen = columns.fold(Sql.raw("true")) { byTable =>
      val pairs = for (table <- byTable.toSeq; (oid, names) = table; name <- names) yield s"$oid $name"
      sql"concat(t.oid, ' ', a.attname) IN ${Sql.list("" +: pairs)}"
    }
    val rows = sql"""WITH RECURSIVE tables AS (
         |  SELECT c.oid, c.relnamespace, format('%s.%s', n.nspname, c.relname) AS name
         |  FROM unnest($list::oid[]) AS x(oid) JOIN pg_class c USING (oid) JOIN pg_namespace n ON n.oid = c.relnamespace
         |), publication AS (SELECT p.*, p.xmin AS written FROM pg_publication p WHERE p.pubname = $publication
         |), files AS (
         |  SELECT oid AS root, oid FROM tables
         |  UNION SELECT f.root, i.inhrelid FROM files f JOIN pg_inherits i ON i.inhparent = f.oid
         |    JOIN pg_class c ON c.oid = i.inhrelid AND c.relispartition
         |), objects AS (
         |  SELECT oid, name, oid AS object, relnamespace FROM tables
         |  UNION SELECT t.oid, t.name, c.oid, c.relnamespace FROM tables t
         |    CROSS JOIN LATERAL pg_partition_ancestors(t.oid) a(object) JOIN pg_class c ON c.oid = a.object
         |), columns AS (
         |  SELECT t.oid AS root, a.attnum, a.attname, a.atttypid, a.atttypmod, a.xmin AS written, $isChosen AS chosen
         |  FROM tables t JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped
         |), types AS (
         |  SELECT atttypid AS oid FROM columns WHERE chosen
         |  UNION SELECT part.oid FROM types t JOIN pg_type y ON y.oid = t.oid CROSS JOIN LATERAL (
         |    SELECT y.typelem AS oid UNION ALL SELECT y.typbasetype
         |    UNION ALL SELECT r.rngsubtype FROM pg_range r WHERE r.rngtypid = y.oid
         |    UNION ALL SELECT a.atttypid FROM pg_attribute a
         |      WHERE y.typtype = 'c' AND a.attrelid = y.typrelid AND a.attnum > 0 AND NOT a.attisdropped) AS part
         |  WHERE part.oid <> 0
         |)
         |SELECT 'publication' AS kind, 0 AS subject, oid::text AS id, pubname::text AS name, concat_ws(', ',
         |    CASE WHEN pubinsert THEN 'insert' END, CASE WHEN pubupdate THEN 'update' END,
         |    CASE WHEN pubdelete THEN 'delete' END, CASE WHEN pubtruncate THEN 'truncate' END) AS value,
         |  written::text AS mark FROM publication
         |UNION ALL SELECT 'object', t.oid::bigint, r.oid::text, t.name, '', ''
         |  FROM publication p JOIN pg_publication_rel r ON r.prpubid = p.oid JOIN objects t ON t.object = r.prrelid
         |UNION ALL SELECT 'object', t.oid::bigint, 'all', t.name, '', '' FROM publication p CROSS JOIN tables t
         |  WHERE p.puballtables
         |${schemas(connection)}
         |UNION ALL SELECT 'column', root::bigint, attnum::text, attname, concat(atttypid, ':', atttypmod), written::text
         |  FROM columns
         |UNION ALL SELECT DISTINCT 'filled', c.root::bigint, c.attnum::text, c.attname, '', ''
         |  FROM (SELECT * FROM pg_attribute WHERE atthasmissing) m JOIN files f ON f.oid = m.attrelid
         |  JOIN columns c ON c.root = f.root AND c.attname = m.attname
         |  WHERE ((c.written::text::bigint - ${earlier.fold(before)(_.since)}) & 4294967295) < 2147483648
         |UNION ALL SELECT 'file', f.root::bigint, f.oid::text, f.oid::regclass::text,
         |  concat(c.relfilenode, CASE WHEN f.oid <> f.root AND c.relkind = 'r' AND pg_relation_size(f.oid) = 0
         |    THEN ' empty' END),
         |  concat(i.xmin, CASE WHEN i.xmin = a.xmin THEN ' created' END)
         |  FROM files f JOIN pg_class c ON c.oid = f.oid JOIN pg_attribute a ON a.attrelid = f.oid AND a.attnum = -1
         |  LEFT JOIN pg_inherits i ON i.inhrelid = f.oid AND f.oid <> f.root
         |UNION ALL SELECT 'label', t.oid::bigint, e.oid::text, t.oid::regtype::text, e.enumlabel, e.xmin::text
         |  FROM types t JOIN pg_enum e ON e.enumtypid = t.oid
         |UNION ALL SELECT 'order', t.oid::bigint, e.oid::text, '', e.enumsortorder::text, ''
         |  FROM types t JOIN pg_enum e ON e.enumtypid = t.oid
         |UNION ALL SELECT 'attribute', t.oid::bigint, a.attnum::text, t.oid::regtype::text,
         |  concat(a.attname, ' ', a.atttypid, ':', a.atttypmod), CASE WHEN c.relkind = 'c' THEN a.xmin::text ELSE '' END
         |  FROM types t JOIN pg_type y ON y.oid = t.oid AND y.typtype = 'c' JOIN pg_class c ON c.oid = y.typrelid
         |  JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
         |ORDER BY 1, 2, 3""".query(connection) { rows =>
      def text(column: String) = rows.getString(column)
      Fact(text("kind"), rows.getLong("subject"), text("id"), text("name"), text("value"), text("mark"))
    }
    earlier.fold(CatalogFacts(before, rows))(CatalogFacts(before, rows).withLogged(_))
  }

  private def schemas(connection: Connection): Sql =
    if (connection.getMetaData.getDatabaseMajorVersion < 15) Sql.raw("")
    else
      sql"""UNION ALL SELECT 'object', t.oid::bigint, s.oid::text, t.name, '', ''
           |  FROM publication p JOIN pg_publication_namespace s ON s.pnpubid = p.oid
           |  JOIN objects t ON t.relnamespace = s.pnnspid"""

  private def since(connection: Connection): Long =
    sql"SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint & 4294967295".query(connection)(_.getLong(1)).head

  /** Whether a file has a row from before a moment: it was copied (VACUUM FULL, CLUSTER), and its rows were neither removed nor
    * written again (TRUNCATE, ALTER TABLE). Looks at the first rows only.
    */
  def hasOldRow(connection: Connection, file: Fact, since: Long): Boolean =
    try
      sql"""SELECT EXISTS (SELECT FROM (SELECT xmin::text::bigint AS x FROM ONLY ${Sql.raw(file.name)} LIMIT 10000) AS r
           |WHERE x < 3 OR (($since - x) & 4294967295) BETWEEN 1 AND 2147483647)"""
        .query(connection)(_.getBoolean(1))
        .head
    catch { case error: SQLException if error.getSQLState == InsufficientPrivilege => false }
}
