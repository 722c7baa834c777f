package io.epochal.core.error

/** Removes what may be secret from texts before they reach a message, a plan or a log. */
object Redaction {

  val Mask = "***"

  private val UserInfo = "(?<=://)[^/?#@]*@".r
  private val Credential =
    "(?i)((?:password|passwd|pwd|secret|token|api_?key|access_?key|authorization)[^=&;:\\s]*[=:])[^&;\\s]+".r

  /** A URL without user info, query and fragment: what names the place, and nothing else. */
  def url(text: String): String = UserInfo.replaceFirstIn(text, "").takeWhile(c => c != '?' && c != '#')

  /** Any text, with user info in URLs and values that follow a credential's name masked. */
  def text(text: String): String =
    if (text == null) ""
    else Credential.replaceAllIn(UserInfo.replaceAllIn(text, ""), m => m.group(1).replace("$", "\\$") + "***")
}
