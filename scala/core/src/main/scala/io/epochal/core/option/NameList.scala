package io.epochal.core.option

/** Lists of names separated by commas, and of pairs with a colon between two names. A name in double quotes is taken literally,
  * with quotes in it doubled, so any name can be written.
  */
object NameList {

  /** `id, "odd,name"` */
  def names(text: String): Option[Seq[String]] =
    Some(tokens(text, ',').collect { case Name(name) => name }).filter(_.nonEmpty)

  /** The text that parses into these names. */
  def render(names: Seq[String]): String = names
    .map(name =>
      if (name.exists(c => c == ',' || c == '"') || name != name.trim) s""""${name.replace("\"", "\"\"")}"""" else name)
    .mkString(",")

  /** The first few of many names, for a message. */
  def shown(names: Seq[String]): String =
    names.take(MaxShown).mkString(", ") + (if (names.sizeIs > MaxShown) ", …" else "")

  private val MaxShown = 20

  /** `id:comment_id, body:"full text"` */
  def pairs(text: String): Option[Seq[(String, String)]] = {
    val read = groups(tokens(text, ',', ':')).filter(_.nonEmpty).map {
      case Seq(Name(from), Separator(':'), Name(to)) => Some(from -> to)
      case _                                         => None
    }
    Option.when(read.nonEmpty && read.forall(_.isDefined))(read.flatten)
  }

  private def groups(tokens: Seq[Token]): Seq[Seq[Token]] = {
    val (first, rest) = tokens.span(_ != Separator(','))
    if (rest.isEmpty) Seq(first) else first +: groups(rest.tail)
  }

  sealed private trait Token
  final private case class Name(text: String) extends Token
  final private case class Separator(char: Char) extends Token

  private def tokens(text: String, separators: Char*): Seq[Token] = {
    val stops = separators.mkString
    val token = s"""\\s*"((?:[^"]|"")+)"\\s*(?=[$stops]|$$)|([$stops])|([^$stops]+)""".r
    token.findAllMatchIn(text).toVector.flatMap { part =>
      if (part.group(1) != null) Some(Name(part.group(1).replace("\"\"", "\"")))
      else if (part.group(2) != null) Some(Separator(part.group(2).charAt(0)))
      else Some(part.group(3).trim).filter(_.nonEmpty).map(Name(_))
    }
  }
}
