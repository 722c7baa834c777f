package io.epochal.jdbc.database

import io.epochal.kit.database.QualifiedName

/** The roles that the sink trusts to own the tables beside a target.
  *
  * @param owners
  *   roles that the user named, in addition to those that could act as the sink's own role anyway
  */
final case class Trust(target: QualifiedName, owners: Seq[String])
