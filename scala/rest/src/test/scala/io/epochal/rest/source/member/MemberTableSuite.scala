package io.epochal.rest.source.member

import java.nio.file.Files

import org.apache.hadoop.conf.Configuration
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tagobjects.Slow

import io.epochal.core.journal.Segment
import io.epochal.kit.store.HadoopFileStore
import io.epochal.rest.http.Validator
import io.epochal.rest.source.MemberTable.Member
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
    new MemberLog(new HadoopFileStore(directory, new Configuration()), options.errors, lineage.leaf.keys)
  }

  private def name(table: MemberTable, n: Int): Member =
    table.name(table.root, Map("owner" -> s"owner${n % 100}", "repo" -> s"repository-$n"), Long.MaxValue - 1).get

  private def move(table: MemberTable, member: Member, n: Int): Unit = {
    val page = NextPage(Some(s"/repositories/12345678/issues?page=$n"), n % 100L)
    val validator = Validator("If-None-Match", s""""0123456789abcdef0123456789abcdef$n"""")
    table.move(member, MemberPosition(n.toLong, page, Some(validator), 1000L + n), mustLog = true)
  }

  private def positions(table: MemberTable): Map[String, MemberPosition] =
    table.membersWithPosition.map(member => member.key -> member.position).toMap

  test("polls alternate between the members that changed last and those that have waited longest, and leave none out") {
    val table = newTable
    val members = (0 until 8).map(name(table, _))
    table.defer(table.root, Long.MaxValue)
    members.zipWithIndex.foreach { case (member, i) =>
      table.defer(member, i.toLong)
      table.move(member, MemberPosition.Start.copy(lastReceipt = if (i < 6) i.toLong else 0L), mustLog = false)
    }
    assert(table.begin(now = 6) == Seq(0, 5, 1, 4, 2, 3, 6).map(members))
  }

  test("a list is polled only while its parent lists it") {
    val table = newTable
    val (one, other) = (name(table, 1), name(table, 2))
    table.endRead(table.root, isWhole = true, 1)
    assert(table.begin(1).toSet == Set(one, other) && table.counts == ((2, 0)))
    table.name(table.root, MemberTable.values(lineage.leaf.keys, other.key), 1): Unit
    table.endRead(table.root, isWhole = true, 1)
    assert(table.begin(1) == Seq(other) && table.counts == ((1, 0)))
  }

  test("the log gives back every position, whatever was written in between", Slow) {
    val (log, table) = (newLog(), newTable)
    log.read(Nil, table)
    var segments = Seq.empty[Segment]
    val members = (0 until 3000).map(name(table, _))
    (0 until 40).foreach { round =>
      members.indices.by((round + 1) * 7).foreach(n => move(table, members(n), n + round))
      segments = log.add(table, segments)
      assert(segments.size <= MemberLog.MaxSegments)
      val read = newTable
      log.read(segments, read)
      assert(positions(read) == positions(table))
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
    val last = name(table, count - 1)
    move(table, last, count - 1)
    (0 until count - 1).foreach(n => move(table, name(table, n), n))
    val bytes = (used() - before) / count
    val segments = log.add(table, Nil)
    move(table, last, count)
    val later = log.add(table, segments)
    val position = RestPosition.OfMembers(1, Nil, later)
    info(s"$bytes bytes per member; the log has ${segments.map(_.bytes).sum / count} per member")
    assert(table.members.size == count && bytes < 500)
    assert(RestOffset.toJson("s", position).length < 1000)
    assert(later.last.until - later.last.from == 1)
  }
}
