package io.epochal.checkpoint

import io.epochal.core.error.EpochalException
import io.epochal.core.option.{OptionGroup, OptionSpec, OptionType}
import io.epochal.kit.access.DriverAccess

object CheckpointOptions {
  val Format = "epochal-checkpoint"

  private val Path: OptionSpec[String] = OptionSpec(
    "path",
    OptionType.string,
    "A query's checkpointLocation, on any file system of Spark; load(path) sets it.",
    required = true,
    sample = Some("/data/checkpoints/comments")
  )

  val group: OptionGroup = OptionGroup(
    Format,
    "Spark's logs in the checkpoint of any query: a row for each source of each epoch. Batch reads.",
    Seq(Path))

  /** The location of the checkpoint. */
  def read(raw: Map[String, String]): Either[EpochalException, String] =
    for {
      path <- group.parse(raw).map(_(Path))
      _ <- DriverAccess.checked(_.directory(Path.name, path))
    } yield path
}
