package io.epochal.rest.http

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, InputStream}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.TimeUnit
import java.util.zip.{GZIPInputStream, GZIPOutputStream}

import org.openjdk.jmh.annotations._

import io.epochal.kit.gzip.GzipMembers
import io.epochal.kit.record.Body

/** Decompression of a megabyte of JSON: our gzip decoder and the JDK's. */
@State(Scope.Thread)
@BenchmarkMode(Array(Mode.AverageTime))
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(1)
class GzipBench {
  private val buffer = new Body
  private var compressed: Array[Byte] = _

  @Setup def setUp(): Unit = {
    val records = (0 until 5000).map { i =>
      s"""{"id":$i,"name":"name of the comment ${i * 7919 % 5003}","email":"someone.$i@example.com","score":${i * 31 % 97}.${i % 10},""" +
        s""""body":"${"lorem ipsum dolor sit amet " * 4}${i * 104729}"}"""
    }
    val page = records.mkString("[", ",", "]").getBytes(UTF_8).take(1 << 20)
    val bytes = new ByteArrayOutputStream
    val out = new GZIPOutputStream(bytes)
    out.write(page)
    out.close()
    compressed = bytes.toByteArray
  }

  @Benchmark def ours(): Int = read(new GzipMembers(new ByteArrayInputStream(compressed), Long.MaxValue))

  @Benchmark def jdk(): Int = read(new GZIPInputStream(new ByteArrayInputStream(compressed), 16 << 10))

  private def read(in: InputStream): Int = {
    buffer.readFrom(in, Body.MaxBytes): Unit
    in.close()
    buffer.length
  }
}
