package io.epochal.ingest.http.auth

import java.util.concurrent.TimeUnit.SECONDS

import org.slf4j.LoggerFactory

import io.epochal.core.error.EpochalException
import io.epochal.kit.access.Secret

/** The secrets that are valid now: one, or two while clients change from the previous one. They are read again after a few
  * seconds, so a file that was changed counts without a restart. Prints without them.
  *
  * @param made
  *   what a secret becomes to be compared
  * @param nanoTime
  *   the clock
  */
final private[http] class CurrentSecrets(
    secrets: Seq[Secret],
    made: String => Array[Byte],
    nanoTime: () => Long = () => System.nanoTime()) {

  @volatile private var last = (nanoTime(), readNow())

  /** None of them where one cannot be read: then nobody is admitted. */
  def read(): Seq[Array[Byte]] = {
    val now = nanoTime()
    if (now - last._1 > CurrentSecrets.RefreshNanos)
      last = (
        now,
        try readNow()
        catch {
          case e: EpochalException =>
            if (last._2.nonEmpty) CurrentSecrets.log.warn(s"Nobody is admitted until this is mended: ${e.problem}")
            Nil
        })
    last._2
  }

  private def readNow(): Seq[Array[Byte]] = secrets.map(secret => made(secret.read()))
}

private object CurrentSecrets {
  private val log = LoggerFactory.getLogger("io.epochal.ingest.http.auth.CurrentSecrets")
  private val RefreshNanos = SECONDS.toNanos(5)
}
