package io.epochal.jdbc.database

import io.epochal.jdbc.option.QualifiedName

/** Whom the sink trusts with the tables that it keeps beside a target (K19).
  *
  * @param owners
  *   roles that the user names, beside those who could act as the sink's own role anyway
  */
final case class Trust(target: QualifiedName, owners: Seq[String])
