package io.epochal.rest.http

import scala.util.{Try, Using}

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import io.epochal.core.error.Conditions
import io.epochal.core.journal.FileStore

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
  def read(): Option[String] = files.reverseIterator.flatMap(file => token(file._2)).nextOption()

  def write(token: String): Unit = {
    val before = files
    val bytes = mapper.writeValueAsBytes(mapper.createObjectNode().put("v", Version).put("refreshToken", token))
    Using.resource(store.create(s"$identity-${before.lastOption.fold(0L)(_._1) + 1}")) { out =>
      out.write(bytes, 0, bytes.length)
      out.sync()
    }
    before.foreach { case (_, name) => store.delete(name) }
  }

  private def files: Seq[(Long, String)] = store
    .names()
    .filter(_.startsWith(s"$identity-"))
    .flatMap(name => name.drop(identity.length + 1).toLongOption.map(_ -> name))
    .sorted

  private def token(name: String): Option[String] = {
    val bytes = store.content(name)
    Try(mapper.readTree(bytes)).toOption.filter(_.has("v")).map { (file: JsonNode) =>
      val found = file.path("v").asInt
      if (found != Version)
        throw Conditions.OffsetVersionUnsupported(
          "format" -> "epochal-rest (oauth)",
          "found" -> found,
          "supported" -> Version)
      file.path("refreshToken").asText
    }
  }
}

private object RefreshTokenFile {
  private val Version = 1
  private val mapper = new ObjectMapper
}
