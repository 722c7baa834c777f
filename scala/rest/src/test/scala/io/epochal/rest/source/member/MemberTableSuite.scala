package io.epochal.rest.source.member

import java.nio.file.Files

import org.apache.hadoop.conf.Configuration
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tagobjects.Slow

import io.epochal.core.journal.Segment
import io.epochal.kit.store.HadoopFileStore
import io.epochal.rest.http.Validator
import io.epochal.rest.source._

/** The members of a stream in memory and in their log. */
final class MemberTableSuite extends AnyFunSuite {

  private val options = RestOptions
    .read(
      Map(
        "url" -> "https://api.example.com/repos/${owner}/${repo}/issues",
        "parent.url" -> "https://api.example.com/repos",
        "parent.fields" -> "owner=/owner/login,repo=/name"))
    .fold(throw _, identity)
  private val lineage = options.lineage.get

  private def newTable = new MemberTable(lineage)

  private def newLog(): MemberLog = {
    val directory = Files.createTempDirectory("rest").toString
    new MemberLog(new HadoopFileStore(directory, new Configuration()), options, lineage.leaf.keys)
  }

  private def found(table: MemberTable, n: Int): Member =
    table.found(table.root, Map("owner" -> s"owner${n % 100}", "repo" -> s"repository-$n"))._1.asInstanceOf[Member]

  private def moved(member: Member, n: Int): Unit = {
    member.answered = true
    member.moved = true
    member.records = n.toLong
    member.token = s"/repositories/12345678/issues?page=$n"
    member.taken = n % 100L
    member.unless = Validator("If-None-Match", s""""0123456789abcdef0123456789abcdef$n"""")
    member.changed = 1000L + n
  }

  private def known(table: MemberTable): Map[String, (Long, NextPage, Validator, Long)] =
    table.all.filter(_.answered).map(one => one.key -> ((one.records, one.next, one.unless, one.changed))).toMap

  test("polls alternate between the members that changed last and those that have waited longest, and leave none out") {
    val table = newTable
    val members = (0 until 8).map(found(table, _))
    table.root.due = 100
    members.zipWithIndex.foreach { case (member, i) =>
      member.due = i.toLong
      member.changed = if (i < 6) i.toLong else 0L
    }
    assert(table.ready(now = 6) == Seq(0, 5, 1, 4, 2, 3, 6).map(members))
  }

  test("a list is polled only while its parent lists it") {
    val table = newTable
    val (one, other) = (found(table, 1), found(table, 2))
    table.root.reads += 1
    table.root.due = 100
    assert(table.ready(1).toSet == Set(one, other))
    Seq(one, other).foreach(_.queued = false)
    found(table, 2): Unit
    table.root.reads += 1
    assert(table.ready(1) == Seq(other))
  }

  test("the log gives back every position, whatever was written in between", Slow) {
    val (log, table) = (newLog(), newTable)
    log.read(Nil, table)
    var segments = Seq.empty[Segment]
    (0 until 40).foreach { round =>
      (0 until 3000 by (round + 1) * 7).foreach(n => moved(found(table, n), n + round))
      segments = log.add(table, segments)
      assert(segments.size <= MemberLog.MaxSegments)
      val read = newTable
      log.read(segments, read)
      assert(known(read) == known(table))
    }
    assert(log.add(table, segments) == segments)
  }

  test("positions of many members are cheap in memory, and none of the offset", Slow) {
    val count = 100000
    def used(): Long = {
      (0 until 3).foreach(_ => System.gc())
      Runtime.getRuntime.totalMemory - Runtime.getRuntime.freeMemory
    }
    val log = newLog()
    val before = used()
    val table = newTable
    log.read(Nil, table)
    (0 until count).foreach(n => moved(found(table, n), n))
    val bytes = (used() - before) / count
    val segments = log.add(table, Nil)
    found(table, 7).moved = true
    val later = log.add(table, segments)
    val position = RestPosition(1, Some(JournalPosition(Nil, None)), log = later)
    info(s"$bytes bytes per member; the log has ${segments.map(_.bytes).sum / count} per member")
    assert(table.all.size == count && bytes < 500)
    assert(RestOffset.toJson("s", position).length < 1000)
    assert(later.last.until - later.last.from == 1)
  }
}
