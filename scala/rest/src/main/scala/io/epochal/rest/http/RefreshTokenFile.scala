package io.epochal.rest.http

import java.nio.file.NoSuchFileException

import scala.util.{Try, Using}

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import io.epochal.core.error.{Conditions, Redaction}
import io.epochal.core.journal.FileStore

/** A refresh token that a server has sent.
  *
  * @param number
  *   grows with each replacement: of two tokens of one client, the one with the greater number is newer
  */
final private[http] case class ReplacedToken(number: Long, text: String) {
  override def toString: String = s"ReplacedToken($number, ${Redaction.Mask})"
}

/** The refresh token that a server has sent in place of the last one, in a stream's part of the checkpoint.
  *
  * A file is named `<identity>-<number>` and has a JSON object, `{"v":1,"refreshToken":"…"}`. Of the complete ones the one
  * with the highest number counts. It is durable before its token is used, and earlier ones are removed after that. It is not
  * encrypted.
  *
  * Not guaranteed: a token is lost if the driver is killed after the server has sent it, and before its file is complete.
  *
  * @param identity
  *   of the client and of the token in its options: with another one, these count again
  */
final private[http] class RefreshTokenFile(store: FileStore, identity: String) {
  import RefreshTokenFile._

  /** The last token; None: the server has not replaced that of the options. */
  def read(): Option[ReplacedToken] =
    try files.reverseIterator.flatMap { case (number, name) => text(name).map(ReplacedToken(number, _)) }.nextOption()
    catch { case _: NoSuchFileException => read() } // Another driver has just replaced it.

  /** @return
    *   the token with the number of its file: a greater one if there are incomplete files
    */
  def write(token: ReplacedToken): ReplacedToken = {
    val before = files
    val number = before.lastOption.fold(token.number)(last => math.max(token.number, last._1 + 1))
    val bytes = mapper.writeValueAsBytes(mapper.createObjectNode().put("v", Version).put("refreshToken", token.text))
    Using.resource(store.create(s"$identity-$number")) { out =>
      out.write(bytes, 0, bytes.length)
      out.sync()
    }
    before.foreach { case (_, name) => store.delete(name) }
    token.copy(number = number)
  }

  private def files: Seq[(Long, String)] = store
    .names()
    .filter(_.startsWith(s"$identity-"))
    .flatMap(name => name.drop(identity.length + 1).toLongOption.map(_ -> name))
    .sorted

  private def text(name: String): Option[String] = {
    val bytes = store.content(name)
    Try(mapper.readTree(bytes)).toOption.filter(_.has("v")).map { (file: JsonNode) =>
      val version = file.path("v").asInt
      if (version != Version)
        throw Conditions.OffsetVersionUnsupported(
          "format" -> "epochal-rest (oauth)",
          "found" -> version,
          "supported" -> Version)
      file.path("refreshToken").asText
    }
  }
}

private object RefreshTokenFile {
  private val Version = 1
  private val mapper = new ObjectMapper
}
