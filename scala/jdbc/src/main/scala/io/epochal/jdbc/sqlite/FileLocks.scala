package io.epochal.jdbc.sqlite

import java.nio.file.{Files, Path, Paths}

import scala.jdk.CollectionConverters._
import scala.jdk.OptionConverters._
import scala.util.Try

/** The processes that hold SQLite's write locks on the files of a database. Linux lists them in `/proc/locks`; elsewhere none is
  * known.
  *
  * SQLite locks bytes of the database from 0x40000000 on, and of the write-ahead log's index from 120 on.
  */
private[sqlite] object FileLocks {

  private val Held = """\d+: (?:POSIX|OFDLCK) +\S+ +WRITE +(-?\d+) +[0-9a-f]+:[0-9a-f]+:(\d+) +(\d+) .*""".r
  private val OfDatabase = 0x40000000L to 0x400001ffL
  private val OfIndex = 120L to 127L

  def holders(files: Seq[Path]): Seq[String] = Try {
    val inodes = files.filter(Files.exists(_)).map(Files.getAttribute(_, "unix:ino").toString).toSet
    Files
      .readAllLines(Paths.get("/proc/locks"))
      .asScala
      .toSeq
      .collect {
        case Held(process, inode, first) if inodes(inode) && isLock(first.toLong) => process.toLong
      }
      .distinct
      .map(describe)
  }.getOrElse(Nil)

  private def isLock(first: Long): Boolean = OfDatabase.contains(first) || OfIndex.contains(first)

  private def describe(process: Long): String =
    if (process <= 0) "a process of another container"
    else if (process == ProcessHandle.current.pid) s"another connection of this process ($process)"
    else {
      val program = ProcessHandle.of(process).toScala.flatMap(_.info.command.toScala)
      s"process $process${program.fold("")(path => s" (${Paths.get(path).getFileName})")}"
    }
}
