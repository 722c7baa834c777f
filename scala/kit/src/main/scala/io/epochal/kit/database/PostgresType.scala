package io.epochal.kit.database

/** A PostgreSQL type. A domain counts as its base type.
  *
  * @param name
  *   `pg_type.typname`, qualified by its schema unless that is `pg_catalog`; `citext` in any schema
  * @param modifier
  *   `atttypmod`: length, precision and scale, depending on the type; -1 if there is none
  * @param declaration
  *   as `format_type` prints it, a domain by its own name
  * @param oid
  *   of the type or domain itself; 0: unknown
  * @param isSent
  *   whether the server can send it in binary form
  * @param isRequired
  *   whether a domain rejects NULL
  * @param base
  *   of a domain, its base type as `format_type` prints it
  */
final case class PostgresType(
    name: String,
    modifier: Int,
    declaration: String,
    shape: PostgresType.Shape = PostgresType.Plain,
    oid: Long = 0,
    isSent: Boolean = true,
    isRequired: Boolean = false,
    base: Option[String] = None
) extends ColumnType {

  /** To which a text is cast, without the checks of a domain. */
  def cast: String = base.getOrElse(declaration)

  /** The type itself in SQL, without its modifier. */
  def sql: String = {
    val (schema, own) = name.splitAt(name.lastIndexOf('.'))
    s"${Sql.quoted(if (schema.isEmpty) "pg_catalog" else schema)}.${Sql.quoted(own.stripPrefix("."))}"
  }

  /** Of an array the type of its elements, else the type itself. */
  @scala.annotation.tailrec
  def leaf: PostgresType = shape match {
    case PostgresType.Elements(element, _) => element.leaf
    case _                                 => this
  }

  /** Characters of a varchar(n) or char(n). */
  def length: Option[Int] = Option.when(modifier >= Header)(modifier - Header)

  /** Precision and scale of a numeric(p,s); the scale has 11 bits, one of them its sign. */
  def numeric: Option[(Int, Int)] = length.map(bits => ((bits >> 16) & 0xffff, ((bits & 0x7ff) ^ 1024) - 1024))

  /** Fractional second digits that a timestamp(p) or time(p) keeps. */
  def fraction: Int = if (modifier < 0) 6 else modifier

  /** Fractional second digits that an interval keeps: the lower half of its modifier. */
  def intervalFraction: Int = if (modifier < 0 || (modifier & 0xffff) == 0xffff) 6 else modifier & 0xffff

  /** Bit mask of the fields that an interval keeps: the upper half of its modifier. */
  def intervalFields: Int = if (modifier < 0) PostgresType.AllFields else (modifier >> 16) & PostgresType.AllFields

  private def Header = 4
}

object PostgresType {
  val AllFields = 0x7fff

  sealed trait Shape extends Serializable
  case object Plain extends Shape

  /** @param labels
    *   when the catalog was read
    */
  final case class Enum(labels: Seq[String]) extends Shape

  /** An array.
    *
    * @param delimiter
    *   between elements, in text form
    */
  final case class Elements(of: PostgresType, delimiter: Char = ',') extends Shape

  /** A composite type, or the row type of a table. */
  final case class Fields(fields: Seq[(String, PostgresType)]) extends Shape
}
