"""Credentials of requests: values of ``epochal.rest``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from epochal._values.secret import Secret
from epochal._values.value import Value, of, option

ClientAuth = Literal["basic", "body"]
HmacAlgorithm = Literal["sha256", "sha512"]
HmacEncoding = Literal["hex", "base64"]


class Bearer(Value):
    """Authorization with a bearer token."""

    token: Secret | str = field(kw_only=False, metadata=of("bearerToken"))


class Basic(Value):
    """Basic authorization: a user name and a password."""

    user: str = field(metadata=of("user", secret=True))
    password: Secret | str | None = option("password")


class Digest(Value):
    """Digest authorization (RFC 7616), by SHA-256 or MD5."""

    user: str = field(metadata=of("digest.user", secret=True))
    password: Secret | str = field(metadata=of("digest.password"))


class ApiKey(Value):
    """An API key in a header or a query parameter, also with another one: ``auth=[rest.Bearer(…), rest.ApiKey(…)]``.

    >>> ApiKey(Secret.env("KEY"), header="X-Auth-Key")
    rest.ApiKey(key=Secret.env('KEY'), header='X-Auth-Key')
    """

    _alternatives = (("The key is sent in one place: keep one of them.", "header", "param"),)
    key: Secret | str = field(kw_only=False, metadata=of("apiKey"))
    header: str | None = option("apiKeyHeader")
    param: str | None = option("apiKeyParam")


class OAuth2(Value):
    """Access tokens from an OAuth 2 server, obtained with client credentials or a refresh token."""

    token_url: str = field(metadata=of("oauth.tokenUrl"))
    client_id: str = field(metadata=of("oauth.clientId"))
    client_secret: Secret | str | None = option("oauth.clientSecret")
    refresh_token: Secret | str | None = option("oauth.refreshToken")
    scope: str | None = option("oauth.scope")
    params: Mapping[str, str] | None = option("oauth.params")
    client_auth: ClientAuth | None = option("oauth.clientAuth")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.client_secret is None and self.refresh_token is None:
            raise self._invalid("client_secret", "is not given, nor is refresh_token", 'Secret.env("CLIENT_SECRET")')


class AwsSigV4(Value):
    """Requests to AWS, signed by Signature Version 4."""

    access_key_id: str = field(metadata=of("aws.accessKeyId", secret=True))
    secret_access_key: Secret | str = field(metadata=of("aws.secretAccessKey"))
    region: str = field(metadata=of("aws.region"))
    service: str = field(metadata=of("aws.service"))
    session_token: Secret | str | None = option("aws.sessionToken")


class Hmac(Value):
    """An HMAC of each request in a header, also with another authorization."""

    secret: Secret | str = field(kw_only=False, metadata=of("hmac.secret"))
    header: str | None = option("hmac.header")
    text: str | None = option("hmac.text")
    algorithm: HmacAlgorithm | None = option("hmac.algorithm")
    encoding: HmacEncoding | None = option("hmac.encoding")
    prefix: str | None = option("hmac.prefix")
    timestamp_header: str | None = option("hmac.timestampHeader")


class Signer(Value):
    """A class that signs each request, also with another authorization."""

    class_name: str = field(metadata=of("signerClass"))
    settings: Mapping[str, str] | None = option("signer")


#: Values of ``auth``, alone or in a list.
AnyAuth = Bearer | Basic | Digest | ApiKey | OAuth2 | AwsSigV4 | Hmac | Signer
