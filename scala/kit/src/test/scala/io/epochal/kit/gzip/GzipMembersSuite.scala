package io.epochal.kit.gzip

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, EOFException, InputStream}
import java.util.zip.{CRC32, GZIPInputStream, GZIPOutputStream, ZipException}

import scala.util.{Random, Try, Using}

import org.scalatest.funsuite.AnyFunSuite

import io.epochal.kit.record.Body

final class GzipMembersSuite extends AnyFunSuite {

  private val random = new Random(12)
  private val empty = gzip(Array.emptyByteArray)

  private def gzip(content: Array[Byte]): Array[Byte] = {
    val bytes = new ByteArrayOutputStream
    Using.resource(new GZIPOutputStream(bytes))(_.write(content))
    bytes.toByteArray
  }

  private def text(length: Int): Array[Byte] = Array.fill(length)((random.nextInt(16) + 'a').toByte)

  private def plain(
      compressed: Array[Byte],
      block: Int = 8192,
      maxCompressed: Long = Long.MaxValue,
      maxMembers: Int = GzipMembers.MaxMembers): Array[Byte] =
    Using.resource(new GzipMembers(new ByteArrayInputStream(compressed), maxCompressed, maxMembers))(all(_, block))

  private def all(in: InputStream, block: Int): Array[Byte] = {
    val found = new ByteArrayOutputStream
    val bytes = new Array[Byte](block)
    Iterator.continually(in.read(bytes, 0, block)).takeWhile(_ >= 0).foreach(found.write(bytes, 0, _))
    found.toByteArray
  }

  test("compressed data round-trips at any length and block size, with one member or several") {
    for (length <- Seq(0, 1, 100, 16383, 16384, 70000, 1 << 20); block <- Seq(1, 7, 65536) if length / block < 100000) {
      val content = text(length)
      assert(plain(gzip(content), block) sameElements content)
      val members = content.grouped(math.max(1, length / 5)).map(gzip).toSeq.flatten.toArray
      if (length > 0) assert(plain(members, block) sameElements content)
    }
  }

  test("twenty thousand empty members, which overflow the stack of the JDK's decoder, are read one after another") {
    val members = Array.fill(20000)(empty).flatten
    val page = text(1000)
    assert(plain(members ++ gzip(page)) sameElements page)
    assert(plain(members).isEmpty)
    // On a small stack, as deep within a task.
    @volatile var failure: Option[Throwable] = None
    val thread = new Thread(
      null,
      () => failure = Try(all(new GZIPInputStream(new ByteArrayInputStream(members)), 8192)).failed.toOption,
      "jdk",
      256L << 10)
    thread.setUncaughtExceptionHandler((_, e) => failure = Some(e))
    thread.start()
    thread.join(60000)
    assert(failure.exists(_.isInstanceOf[StackOverflowError]), "the JDK has another decoder now")
  }

  test("more members, or more compressed bytes, than the maximum are rejected with their own exceptions") {
    val error = intercept[GzipMembers.TooManyMembers](plain(Array.fill(11)(empty).flatten, maxMembers = 10))
    assert(error.getMessage.contains("more than 10 members"))
    assert(plain(Array.fill(10)(empty).flatten, maxMembers = 10).isEmpty)
    intercept[GzipMembers.TooLong](plain(gzip(text(100000)), maxCompressed = 10000))
    intercept[GzipMembers.TooLong](plain(empty ++ new Array[Byte](20000), maxCompressed = 10000))
    val withName = Array[Int](0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 0).map(_.toByte) ++ Array.fill[Byte](20000)('a')
    intercept[GzipMembers.TooLong](plain(withName, maxCompressed = 10000))
  }

  test("every truncation is detected, except one between two members") {
    val (first, second) = (text(300), text(200))
    val (one, two) = (gzip(first), gzip(second))
    val both = one ++ two
    both.indices.filter(_ != one.length).foreach { length =>
      withClue(s"$length of ${both.length}: ")(intercept[EOFException](plain(both.take(length))))
    }
    assert(plain(both.take(one.length)) sameElements first)
    assert(plain(both) sameElements (first ++ second))
  }

  test("a changed byte never yields other content") {
    val content = text(200)
    val compressed = gzip(content)
    compressed.indices.foreach { i =>
      val damaged = compressed.clone()
      damaged(i) = (damaged(i) ^ (1 << random.nextInt(8))).toByte
      Try(plain(damaged)).fold(
        error => assert(error.isInstanceOf[ZipException] || error.isInstanceOf[EOFException], s"byte $i: $error"),
        found => assert(found sameElements content, s"byte $i"))
    }
  }

  test("bytes after the last member are ignored, zeros or not, and read to their end") {
    val content = text(100)
    Seq(new Array[Byte](1), new Array[Byte](40000), "trailing".getBytes, Array[Byte](0, 0x1f, -117)).foreach { more =>
      val in = new ByteArrayInputStream(gzip(content) ++ more)
      assert(all(new GzipMembers(in, Long.MaxValue), 512) sameElements content)
      assert(in.read() < 0)
    }
  }

  test("input that is not gzip is rejected as such") {
    Seq("[]".getBytes, Array[Byte](0x1f, 0x1f), Array[Byte](0x1f, -117, 7, 0, 0, 0, 0, 0, 0, 0)).foreach(bytes =>
      intercept[ZipException](plain(bytes)))
    intercept[EOFException](plain(Array.emptyByteArray))
  }

  test("all optional header fields are skipped, and the header's checksum is checked") {
    val content = text(50)
    def member(break: Int): Array[Byte] = {
      val header = Array[Int](0x1f, 0x8b, 8, 0x1e, 1, 2, 3, 4, 0, 3, 5, 0, 1, 2, 3, 4, 5).map(_.toByte) ++
        "name\u0000comment\u0000".getBytes
      val crc = new CRC32
      crc.update(header)
      val check = crc.getValue.toInt + break
      val whole = gzip(content)
      header ++ Array(check.toByte, (check >> 8).toByte) ++ whole.drop(10)
    }
    assert(plain(member(0)) sameElements content)
    intercept[ZipException](plain(member(1)))
  }

  test("a small input that expands hugely is read no further than the limit") {
    val bomb = gzip(new Array[Byte](50 << 20))
    Using.resource(new GzipMembers(new ByteArrayInputStream(bomb), Long.MaxValue)) { in =>
      val buffer = new Body
      assert(!buffer.readFrom(in, 100000) && buffer.length <= 100001)
    }
  }
}
