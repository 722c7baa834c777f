package io.epochal.cdc.value

/** The text of an array or of a composite value, item by item. The text is what the server prints, so it is well-formed.
  *
  * {{{
  *   [0:2]={1,"a \"quoted\" text",NULL}        (1,"a ""quoted"" text",)
  * }}}
  */
final private class Literal(separator: Char, closing: Char) {
  private var bytes: Array[Byte] = _
  private var at = 0
  private var isFirst = true
  private var isQuoted = false

  /** The bytes of an item without quotes and escapes. */
  var value: Array[Byte] = _
  var from: Int = 0
  var length: Int = 0

  /** Skips the lower bounds. */
  def startArray(bytes: Array[Byte], offset: Int): Unit = {
    start(bytes, offset)
    while (bytes(at) != '{') at += 1
  }

  def start(bytes: Array[Byte], offset: Int): Unit = {
    this.bytes = bytes
    at = offset
    isFirst = true
  }

  /** Moves to the next item; false behind the last one. */
  def next(): Boolean = {
    // An array may be `{}`; in a composite value, `()` has an item that is NULL.
    val isEmpty = isFirst && closing == '}' && bytes(at + 1) == closing
    val closes = isEmpty || !isFirst && bytes(at) == closing
    at += (if (isEmpty) 2 else 1)
    isFirst = false
    !closes
  }

  /** Whether the item is an array within an array of several dimensions. */
  def isNested: Boolean = bytes(at) == '{'

  /** Reads the items of the nested array, then those behind it. */
  def enter(): Unit = isFirst = true

  def read(): Unit = {
    isQuoted = bytes(at) == '"'
    if (isQuoted) at += 1
    from = at
    value = bytes
    var escapes = 0
    var inside = true
    while (inside) {
      val byte = bytes(at)
      if (!isQuoted) inside = byte != separator && byte != closing
      else if (byte == '\\' || byte == '"' && bytes(at + 1) == '"') {
        escapes += 1
        at += 1
      } else inside = byte != '"'
      if (inside) at += 1
    }
    length = at - from
    if (isQuoted) at += 1
    if (escapes > 0) unescape(escapes)
  }

  /** Whether the item, as an array's element, is NULL. */
  def isNull: Boolean =
    !isQuoted && length == 4 && value(from) == 'N' && value(from + 1) == 'U' && value(from + 2) == 'L' &&
      value(from + 3) == 'L'

  /** Whether the item, as a composite value's field, is NULL. */
  def isMissing: Boolean = !isQuoted && length == 0

  private def unescape(escapes: Int): Unit = {
    val plain = new Array[Byte](length - escapes)
    var i = from
    var to = 0
    while (to < plain.length) {
      if (bytes(i) == '\\' || bytes(i) == '"') i += 1
      plain(to) = bytes(i)
      to += 1
      i += 1
    }
    value = plain
    from = 0
    length = plain.length
  }
}
