package io.epochal.kit.access

import io.epochal.core.option.OptionList

/** Options, with secrets among them. */
abstract private[epochal] class SecretOptionList extends OptionList {

  /** Declares a secret, which has three options. */
  final protected def secret(name: String, doc: String): SecretOption = {
    val secret = SecretOption(name, doc)
    secret.all.foreach(also(_))
    secret
  }
}
