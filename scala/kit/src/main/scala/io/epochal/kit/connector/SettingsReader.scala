package io.epochal.kit.connector

import org.slf4j.{Logger, LoggerFactory}

import io.epochal.core.error.EpochalException
import io.epochal.core.option.OptionGroup

/** Not a companion of [[Settings]]: MiMa takes a class for internal if its companion is. */
private[connector] object SettingsReader {
  val log: Logger = LoggerFactory.getLogger(classOf[Settings])

  def read(group: OptionGroup, raw: Map[String, String]): Either[EpochalException, Settings] =
    group.parse(raw).map(new Settings(raw, _))
}
