package io.epochal.core.error

/** Removes what may be secret from texts before they reach a message, a plan or a log. */
object Redaction {

  val Mask = "***"

  /** Up to the authority's last `@`. Without one, what follows a colon and is no port may be a password with a slash, `?` or `#`. */
  private val UserInfo = "(?<=://)(?:[^/?#\\s]*@|[^/?#@:\\[\\s]*:(?!\\d*(?:[/?#\\s]|$))\\S*@)".r
  private val Credential =
    "(?i)((?:password|passwd|pwd|secret|token|api_?key|access_?key|authorization)[^=&;:\\s]*[=:])[^&;\\s]+".r

  /** A URL without user info, query and fragment: what names the place, and nothing else. */
  def url(text: String): String = UserInfo.replaceFirstIn(text, "").takeWhile(c => c != '?' && c != '#')

  /** A URL without user info and fragment; of its query the names, and values that are short numbers. */
  def query(text: String): String = {
    val parameters = text.dropWhile(_ != '?').drop(1).takeWhile(_ != '#').split('&').filter(_.nonEmpty).map { pair =>
      val (name, value) = pair.span(_ != '=')
      if (value.matches("=?|=[0-9]{1,9}")) pair else s"$name=$Mask"
    }
    url(text) + (if (parameters.isEmpty) "" else parameters.mkString("?", "&", ""))
  }

  /** Any text, with user info in URLs and values that follow a credential's name masked. */
  def text(text: String): String =
    if (text == null) ""
    else Credential.replaceAllIn(UserInfo.replaceAllIn(text, ""), m => m.group(1).replace("$", "\\$") + "***")
}
