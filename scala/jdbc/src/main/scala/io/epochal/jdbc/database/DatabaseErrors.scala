package io.epochal.jdbc.database

import java.sql.{SQLException, SQLTransientConnectionException}

import io.epochal.core.error.{Condition, Conditions, EpochalException}
import io.epochal.core.retry.Verdict
import io.epochal.kit.database.ConnectionSettings

/** Classifies the failures of a database: whether to retry, whether a COMMIT is in doubt, which error the user sees. */
final private[jdbc] class DatabaseErrors(dialect: Dialect, settings: ConnectionSettings) {
  import DatabaseErrors._

  def verdict(error: Throwable): Verdict =
    if (error.isInstanceOf[EpochalException]) Verdict.GiveUp
    else
      ConnectionPool.sqlErrors(error) match {
        case Nil                                                => Verdict.GiveUp
        case (_: ConnectionPool.AllBusy) :: _                   => Verdict.GiveUp
        case (_: SQLTransientConnectionException) :: Nil        => Verdict.Retry
        case (_: SQLTransientConnectionException) :: cause :: _ => dialect.errors.verdict(cause)
        case cause :: _                                         => dialect.errors.verdict(cause)
      }

  /** Whether the failure of a COMMIT leaves its outcome unknown. */
  def losesConnection(error: Throwable): Boolean =
    ConnectionPool.sqlErrors(error).exists(dialect.errors.losesConnection)

  /** Whether the error is one that a repetition can outlast. */
  def passes(error: Throwable): Boolean =
    losesConnection(error) || ConnectionPool.sqlErrors(error).exists(dialect.errors.verdict(_) == Verdict.Retry)

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
        case errors => diagnose(errorOf(step, errors))
      })

  private def errorOf(step: String, errors: Seq[SQLException]): EpochalException = {
    val cause = errors.find(!_.isInstanceOf[SQLTransientConnectionException]).getOrElse(errors.head)
    val state = Option(cause.getSQLState).getOrElse("")
    val reason = settings.redact(cause.getMessage)
    def as(condition: Condition, more: (String, Any)*): EpochalException =
      condition.because(settings.redact(cause))(Seq("url" -> settings.place, "reason" -> reason) ++ more: _*)
    def tooMany(advice: String) = as(Conditions.TooManyConnections, "step" -> step, "advice" -> advice)
    val tooLarge = errors.flatMap(dialect.errors.rowTooLarge).headOption
    val limit = errors.flatMap(dialect.errors.tooManyConnections).headOption
    if (errors.exists(_.isInstanceOf[ConnectionPool.AllBusy]))
      tooMany("Raise {option:maxConnections} as far as the server allows, or run fewer tasks at a time.")
    else if (tooLarge.isDefined) as(Conditions.RowTooLarge, "step" -> step, "setting" -> tooLarge.get)
    else if (limit.isDefined)
      tooMany(s"Lower {option:maxConnections} (of each executor), raise ${limit.get} of the server, or use a pooler.")
    else if (errors.exists(dialect.errors.isLocked)) {
      val holders = Some(dialect.lockHolders(settings)).filter(_.nonEmpty).fold("another session")(_.mkString(", "))
      as(Conditions.DatabaseLocked, "step" -> step, "holder" -> holders)
    } else if (errors.exists(dialect.errors.isFull)) as(Conditions.DatabaseFull, "step" -> step)
    else if (errors.exists(dialect.errors.refusesLogin)) as(Conditions.LoginRefused)
    else if (state.startsWith("08") || state == "3D000" || state == "57P03") as(Conditions.DatabaseUnreachable)
    else {
      val shownState = if (state.isEmpty) s"none (code ${cause.getErrorCode})" else state
      as(Conditions.DatabaseError, "step" -> step, "state" -> shownState)
    }
  }
}

private[jdbc] object DatabaseErrors {

  /** Replaces an error by one that names its cause better, if it finds one. */
  type Diagnosis = EpochalException => EpochalException
}
