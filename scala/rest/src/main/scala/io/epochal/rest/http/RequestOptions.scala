package io.epochal.rest.http

import io.epochal.core.option.OptionType
import io.epochal.kit.access.SecretOptionList

object RequestOptions extends SecretOptionList {

  val Headers =
    option("headers.*", OptionType.string, secret = true)("Headers of every request, as headers.Authorization.")
  val Params = option("params.*", OptionType.string, secret = true)("Query parameters of every request.")
}
