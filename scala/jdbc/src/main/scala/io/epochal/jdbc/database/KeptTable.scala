package io.epochal.jdbc.database

import io.epochal.kit.database.QualifiedName

/** A table beside the target.
  *
  * @param needs
  *   privileges without which every query fails
  * @param grants
  *   those that the documentation lists, for what a query may come to do
  */
final case class KeptTable(name: QualifiedName, needs: Seq[String], grants: Seq[String])
