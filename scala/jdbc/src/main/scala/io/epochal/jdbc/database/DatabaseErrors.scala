package io.epochal.jdbc.database

import java.sql.{SQLException, SQLTransientConnectionException}

import io.epochal.core.error.{Conditions, EpochalException}
import io.epochal.core.retry.Verdict
import io.epochal.kit.database.ConnectionSettings

/** Classifies the failures of a database: whether to retry, whether a COMMIT is in doubt, which error the user sees. */
final private[jdbc] class DatabaseErrors(dialect: Dialect, settings: ConnectionSettings) {
  import DatabaseErrors._

  /** Whether a repetition can succeed. */
  def verdict(error: Throwable): Verdict =
    if (error.isInstanceOf[EpochalException]) Verdict.GiveUp
    else
      ConnectionPool.sqlErrors(error) match {
        case Nil                                               => Verdict.GiveUp
        case (_: ConnectionPool.AllBusy) :: _                  => Verdict.GiveUp
        case (_: SQLTransientConnectionException) :: Nil       => Verdict.Retry
        case (_: SQLTransientConnectionException) :: said :: _ => dialect.errors.verdict(said)
        case said :: _                                         => dialect.errors.verdict(said)
      }

  /** Whether the failure of a COMMIT leaves its outcome unknown. */
  def losesConnection(error: Throwable): Boolean =
    ConnectionPool.sqlErrors(error).exists(dialect.errors.losesConnection)

  /** Whether the error is one that a repetition can outlast. */
  def passes(error: Throwable): Boolean =
    losesConnection(error) || ConnectionPool.sqlErrors(error).exists(dialect.errors.verdict(_) == Verdict.Retry)

  /** Whether the database denied a statement. */
  def denies(error: Throwable): Boolean =
    ConnectionPool.sqlErrors(error).exists(dialect.errors.denied)

  /** Our errors pass unchanged. The database's lose their secrets, and may become others.
    *
    * @param step
    *   completes "failed in …"
    */
  def explain(step: String, error: Throwable, diagnose: Diagnosis): Throwable =
    EpochalException
      .in(error)
      .getOrElse(ConnectionPool.sqlErrors(error) match {
        case Nil    => error
        case errors => diagnose(explained(step, errors))
      })

  private def explained(step: String, errors: Seq[SQLException]): EpochalException = {
    val cause = errors.find(!_.isInstanceOf[SQLTransientConnectionException]).getOrElse(errors.head)
    val state = Option(cause.getSQLState).getOrElse("")
    val reason = settings.redact(cause.getMessage)
    val redacted = settings.redact(cause)
    def tooMany(advice: String): EpochalException = Conditions.TooManyConnections
      .because(redacted)("url" -> settings.place, "step" -> step, "advice" -> advice, "reason" -> reason)
    val tooLarge = errors.flatMap(dialect.errors.rowTooLarge).headOption
    val limit = errors.flatMap(dialect.errors.tooManyConnections).headOption
    if (errors.exists(_.isInstanceOf[ConnectionPool.AllBusy]))
      tooMany("Raise {option:maxConnections} as far as the server allows, or run fewer tasks at a time.")
    else if (tooLarge.isDefined)
      Conditions.RowTooLarge
        .because(redacted)("url" -> settings.place, "step" -> step, "setting" -> tooLarge.get, "reason" -> reason)
    else if (limit.isDefined)
      tooMany(s"Lower {option:maxConnections} (of each executor), raise ${limit.get} of the server, or use a pooler.")
    else if (errors.exists(dialect.errors.isLocked)) {
      val holders = dialect.lockHolders(settings)
      Conditions.DatabaseLocked.because(redacted)(
        "url" -> settings.place,
        "step" -> step,
        "holder" -> (if (holders.isEmpty) "another session" else holders.mkString(", ")),
        "reason" -> reason)
    } else if (errors.exists(dialect.errors.isFull))
      Conditions.DatabaseFull.because(redacted)("url" -> settings.place, "step" -> step, "reason" -> reason)
    else if (errors.exists(dialect.errors.refusesLogin))
      Conditions.LoginRefused.because(redacted)("url" -> settings.place, "reason" -> reason)
    else if (state.startsWith("08") || state == "3D000" || state == "57P03")
      Conditions.DatabaseUnreachable.because(redacted)("url" -> settings.place, "reason" -> reason)
    else
      Conditions.DatabaseError.because(redacted)(
        "url" -> settings.place,
        "step" -> step,
        "state" -> (if (state.isEmpty) s"none (code ${cause.getErrorCode})" else state),
        "reason" -> reason)
  }
}

private[jdbc] object DatabaseErrors {

  /** Replaces an error by one that names its cause better, if it finds one. */
  type Diagnosis = EpochalException => EpochalException
}
