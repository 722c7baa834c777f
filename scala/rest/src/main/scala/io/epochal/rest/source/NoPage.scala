package io.epochal.rest.source

/** Why a response's next page cannot be followed. */
sealed private[rest] trait NoPage

private[rest] object NoPage {

  /** The response contradicts the options.
    *
    * @param problem
    *   the contradiction, to complete the message "it returned …"
    */
  final case class Mismatch(problem: String) extends NoPage

  /** The next token is missing. A null or empty one would state that no page follows.
    *
    * @param place
    *   where it was expected
    * @param option
    *   the option that defines this place
    */
  final case class Absent(place: String, option: String) extends NoPage

  /** The response is one of several pages, but was expected to have all records.
    *
    * @param reason
    *   the sign of further pages
    * @param pagination
    *   the value of the option `pagination` that this sign suggests
    */
  final case class Incomplete(reason: String, pagination: String) extends NoPage

  /** The address of the next page must not be requested, for example on another server.
    *
    * @param link
    *   the address, without possible secrets
    */
  final case class Refused(link: String, reason: String) extends NoPage
}
