package io.epochal.kit.database

/** The JDBC driver of a database.
  *
  * @param artifact
  *   `group:name` of its jar, if Epochal does not ship it
  */
final case class JdbcDriver(className: String, artifact: Option[String] = None)
