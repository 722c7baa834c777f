package io.epochal.kit.database

import io.epochal.core.error.EpochalException
import io.epochal.core.option.{OptionList, OptionSpec, OptionType, OptionValues}
import io.epochal.kit.access.{DriverAccess, Secret}

/** How to log in to a database: the options of every format that uses JDBC. */
private[epochal] object ConnectionOptions extends OptionList {
  val User = option("user", OptionType.string, sample = Some("epochal"))("Database user.")
  val PasswordText = option("password", OptionType.string, secret = true)("Password of user.")
  val PasswordFile = option("passwordFile", OptionType.string, sample = Some("/run/secrets/database"))(
    "File with the password, read on the driver for every connection; a line break at its end does not count.")
  val PasswordEnv = option("passwordEnv", OptionType.string, sample = Some("DATABASE_PASSWORD"))(
    "Name of an environment variable of the driver that holds the password.")

  private val passwords: Seq[OptionSpec[String]] = Seq(PasswordText, PasswordFile, PasswordEnv)

  /** The user, and the ways to give a password. */
  val Login: Seq[OptionSpec[String]] = User +: passwords

  val Properties = option("connection.*", OptionType.string, sample = Some("verify-full"), secret = true)(
    "Driver properties, as connection.sslmode=verify-full.")

  val Table: OptionType[TableName] =
    new OptionType[TableName]("table name", "table or schema.table, with quotes where needed", "public.comments")(
      TableName.parse,
      _.toString)

  /** Fails if the password is given twice, or the owner of the Spark driver does not allow the settings. */
  def settings(
      values: OptionValues,
      url: String,
      driver: Option[String] = None,
      maxConnections: Option[Int] = None): Either[EpochalException, ConnectionSettings] =
    for {
      _ <- values.exclusive("The password comes from one place: keep one of them.")(passwords: _*)
      given = ConnectionSettings(
        url,
        values.get(User),
        password(values),
        driver,
        values.family(Properties),
        maxConnections)
      checkedSettings <- DriverAccess.checked(DriverRisks.check(given, _))
    } yield checkedSettings

  private def password(values: OptionValues): Option[Secret] =
    values
      .get(PasswordText)
      .map(Secret.Given(_))
      .orElse(values.get(PasswordFile).map(Secret.InFile(PasswordFile.name, _)))
      .orElse(values.get(PasswordEnv).map(Secret.InEnvironment(PasswordEnv.name, _)))
}
