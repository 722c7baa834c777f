package io.epochal.rest.http.auth

import io.epochal.core.error.Redaction
import io.epochal.kit.access.Secret

/** How requests say who asks. Travels to the executors with its secrets as they were read then; prints without them. */
final case class HttpAuth(
    authorization: Option[Authorization],
    apiKey: Option[ApiKey],
    signer: Option[SignerSettings] = None) {

  /** What must be in no text. */
  def secrets: Seq[Secret] = authorization.toSeq.flatMap(_.secrets) ++ apiKey.map(_.key) ++
    signer.toSeq.flatMap(_.settings.values).map(Secret.Given(_))
}

object HttpAuth {
  val none: HttpAuth = HttpAuth(None, None)
}

/** What the header Authorization has. */
sealed trait Authorization extends Serializable {
  def secrets: Seq[Secret]
}

object Authorization {

  /** RFC 6750. */
  final case class Bearer(token: Secret) extends Authorization {
    override def secrets: Seq[Secret] = Seq(token)
  }

  /** RFC 7617. Some APIs take a key as the user, and no password. */
  final case class Basic(user: String, password: Option[Secret]) extends Authorization {
    override def secrets: Seq[Secret] = Secret.Given(user) +: password.toSeq
    override def toString: String = s"Basic(${Redaction.Mask})"
  }

  /** A bearer token that is asked for by OAuth 2. */
  final case class OAuth(settings: OAuthSettings) extends Authorization {
    override def secrets: Seq[Secret] = settings.secrets
  }
}

/** A key that stands in a header, or as a parameter of the query. */
final case class ApiKey(key: Secret, place: KeyPlace)

sealed trait KeyPlace extends Serializable

object KeyPlace {
  final case class Header(name: String) extends KeyPlace
  final case class Param(name: String) extends KeyPlace
}
