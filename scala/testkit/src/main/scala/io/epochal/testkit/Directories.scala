package io.epochal.testkit

import java.nio.file.{Files, Path, StandardCopyOption}
import java.util.Comparator

import scala.jdk.CollectionConverters._
import scala.util.Using

/** Whole directories. */
private[testkit] object Directories {

  def delete(directory: Path): Unit = if (Files.exists(directory))
    Using.resource(Files.walk(directory)) { found =>
      found.sorted(Comparator.reverseOrder[Path]()).iterator.asScala.foreach(Files.deleteIfExists(_))
    }

  def copy(from: Path, to: Path): Unit =
    Using.resource(Files.walk(from)) { found =>
      found.iterator.asScala.foreach { path =>
        val target = to.resolve(from.relativize(path).toString)
        if (Files.isDirectory(path)) { val _ = Files.createDirectories(target) }
        else { val _ = Files.copy(path, target, StandardCopyOption.REPLACE_EXISTING) }
      }
    }
}
