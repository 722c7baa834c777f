package io.epochal.rest.http

import java.io.InputStream

import org.apache.hc.core5.http.config.Http1Config
import org.apache.hc.core5.http.impl.io.DefaultHttpResponseParser
import org.apache.hc.core5.http.io.{HttpMessageParser, HttpMessageParserFactory, SessionInputBuffer}
import org.apache.hc.core5.http.message.LazyLaxLineParser
import org.apache.hc.core5.http.{ClassicHttpResponse, MessageConstraintException, ProtocolException}

/** Limits on a response's head and framing, so that no server can consume unbounded memory or time. The body's size is
  * limited by `maxResponseBytes`, the time by [[RequestLimits]].
  */
private[http] object ResponseLimits {

  /** Maximum length of a line in the head, a chunk's head or the trailers, without its line break. */
  val MaxLineBytes: Int = (64 << 10) - 1
  val MaxHeaders = 200
  val MaxEmptyLines = 9

  /** Maximum 1xx responses before the final one. */
  val MaxInterim = 20

  def config(bufferSize: Int): Http1Config = Http1Config
    .custom()
    .setBufferSize(bufferSize)
    .setMaxLineLength(MaxLineBytes + 1)
    .setMaxHeaderCount(MaxHeaders + 1)
    .setMaxEmptyLineCount(MaxEmptyLines + 1)
    .build()

  /** Creates a parser for each connection. */
  def parsers(config: Http1Config): HttpMessageParserFactory[ClassicHttpResponse] =
    new HttpMessageParserFactory[ClassicHttpResponse] {
      override def create(defaults: Http1Config): HttpMessageParser[ClassicHttpResponse] = new HeadParser(config)
      override def create(): HttpMessageParser[ClassicHttpResponse] = new HeadParser(config)
    }

  /** The limit that the HTTP library reports, identified by its message only. */
  def reason(error: MessageConstraintException): String = String.valueOf(error.getMessage) match {
    case text if text.contains("line length")  => s"a line of its head or chunks has more than $MaxLineBytes bytes"
    case text if text.contains("header count") => s"it has more than $MaxHeaders headers"
    case text if text.contains("empty line")   => s"it begins with more than $MaxEmptyLines empty lines"
    case text                                  => text
  }

  /** Maximum wire bytes of a body of at most `bytes`, which may come in the smallest possible chunks. */
  def wireBytes(bytes: Long): Long = bytes * 8 + (1L << 20)

  /** Maximum compressed size of a body of at most `bytes` after decompression. */
  def compressedBytes(bytes: Long): Long = bytes * 2 + (64L << 10)

  final private class HeadParser(config: Http1Config)
      extends DefaultHttpResponseParser(config, LazyLaxLineParser.INSTANCE, null) {
    private var interim = 0

    override def parse(buffer: SessionInputBuffer, in: InputStream): ClassicHttpResponse = {
      val response =
        try super.parse(buffer, in)
        catch { case e: IllegalArgumentException => throw new ProtocolException(e.getMessage, e) } // HTTP/-1.1
      interim = if (response != null && response.getCode < 200) interim + 1 else 0
      if (interim > MaxInterim)
        throw new ResponseLimitException(s"more than $MaxInterim responses of 1xx come before it")
      response
    }
  }
}
