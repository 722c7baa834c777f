package io.epochal.cdc.value

/** A PostgreSQL type. A domain counts as its base type.
  *
  * @param name
  *   `pg_type.typname`, qualified by its schema unless that is `pg_catalog`; `citext` in any schema
  * @param modifier
  *   length, or precision and scale, depending on the type; -1 if there is none
  * @param declared
  *   as `format_type` prints it, a domain by its own name
  * @param isSent
  *   whether the server can send it in binary form
  * @param base
  *   of a domain, its base type as `format_type` prints it
  */
final case class PostgresType(
    name: String,
    modifier: Int,
    declared: String,
    isSent: Boolean,
    shape: PostgresType.Shape = PostgresType.Plain,
    base: Option[String] = None
) {

  /** To which a text is cast, without the checks of a domain. */
  def cast: String = base.getOrElse(declared)

  /** Precision and scale of a numeric(p,s); the scale has 11 bits, one of them its sign. */
  def numeric: Option[(Int, Int)] = Option.when(modifier >= 4) {
    val bits = modifier - 4
    ((bits >> 16) & 0xffff, ((bits & 0x7ff) ^ 1024) - 1024)
  }
}

object PostgresType {
  sealed trait Shape extends Serializable
  case object Plain extends Shape
  case object Enum extends Shape

  /** A range or a multirange. */
  case object Range extends Shape

  /** @param delimiter
    *   between elements, in text form
    */
  final case class Elements(of: PostgresType, delimiter: Char) extends Shape

  /** A composite type, or the row type of a table. */
  final case class Fields(fields: Seq[(String, PostgresType)]) extends Shape
}
