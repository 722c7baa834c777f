package io.epochal.jdbc

import java.nio.file.{Files, Paths}

/** The rights of the role that the sink logs in with in tests: the GRANTs of `docs/security.md`, each a block of SQL that begins
  * with a comment, its name.
  */
private[jdbc] object LoaderRights {

  /** Rights for tables that are yet to be created, too. */
  val Everything = "every mode and transport"

  /** The one role shared by all databases of the server. */
  val Role: String =
    """DO $$ BEGIN CREATE ROLE loader LOGIN PASSWORD 'loader';
      |EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$""".stripMargin

  def of(name: String): Seq[String] =
    blocks.getOrElse(name, throw new IllegalArgumentException(s"docs/security.md has no block of SQL '$name'"))

  /** An administrator's URL with the loader's login. */
  def login(url: String): String =
    url.replaceFirst("user=[^&]*", "user=loader").replaceFirst("password=[^&]*", "password=loader")

  private lazy val blocks: Map[String, Seq[String]] =
    document("security.md")
      .split("```sql\n-- ")
      .drop(1)
      .map { text =>
        val (name, sql) = text.takeWhile(_ != '`').span(_ != '\n')
        name -> statements(sql)
      }
      .toMap

  /** The statements that create the ledger's tables in a schema. */
  def ledger(schema: String): Seq[String] =
    statements(document("PROTOCOL.md").split("```sql\n")(1).takeWhile(_ != '`'))
      .filter(_.startsWith("CREATE"))
      .map(_.replace("public.", s"$schema."))

  private def statements(sql: String): Seq[String] = sql.split(";").map(_.trim).filter(_.nonEmpty).toSeq

  private def document(name: String): String =
    Files.readString(Paths.get(System.getProperty("epochal.root", "."), "docs", name))
}
