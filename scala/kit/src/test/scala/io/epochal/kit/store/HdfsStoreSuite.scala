package io.epochal.kit.store

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Files

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.hdfs.MiniDFSCluster
import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.core.journal.acknowledged.{AcknowledgedJournal, JournalFenced}
import io.epochal.core.journal.{Journal, Slice}

/** An acknowledged journal on HDFS, which can neither show the length of an open file nor create files conditionally. */
final class HdfsStoreSuite extends AnyFunSuite with BeforeAndAfterAll {
  private lazy val cluster = {
    val conf = new Configuration()
    conf.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, Files.createTempDirectory("epochal-hdfs").toString)
    new MiniDFSCluster.Builder(conf).numDataNodes(1).build()
  }

  override def afterAll(): Unit = cluster.shutdown()

  test("acknowledged rows survive a takeover on HDFS, the frozen run is fenced, and released files are removed") {
    val store = new HadoopFileStore(s"${cluster.getURI}/checkpoint/ingest", cluster.getConfiguration(0))
    def run() = AcknowledgedJournal.take(store, store.below("runs"), "source")
    def append(journal: AcknowledgedJournal, row: String) =
      journal.append(1, row.getBytes(UTF_8), 0, row.length)("state".getBytes(UTF_8))
    def read(slice: Slice): String = {
      var bytes = Array.emptyByteArray
      Journal.read(store.open(slice.segment, slice.frame.position + slice.frame.length), slice) { length =>
        bytes = new Array[Byte](length)
        bytes
      }
      new String(bytes, UTF_8)
    }
    val old = run()
    ('a' to 'f').foreach(row => append(old, row.toString))
    val next = run()
    assert(next.plan(0, next.until).slices.map(read).mkString == "abcdef")
    intercept[JournalFenced](append(old, "lost")): Unit
    next.startFrom(6)
    (1 to 8).foreach { _ =>
      assert(append(next, "x") >= 6)
      next.release(next.until)
    }
    assert(store.names().count(_.endsWith(".ack")) <= 5 && !store.syncsOpenFiles)
    assert(run().until == 14)
  }
}
