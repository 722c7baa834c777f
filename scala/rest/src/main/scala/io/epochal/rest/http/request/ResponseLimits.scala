package io.epochal.rest.http.request

import java.io.{IOException, InputStream}

import org.apache.hc.core5.http.config.Http1Config
import org.apache.hc.core5.http.impl.io.DefaultHttpResponseParser
import org.apache.hc.core5.http.io.{HttpMessageParser, HttpMessageParserFactory, SessionInputBuffer}
import org.apache.hc.core5.http.message.LazyLaxLineParser
import org.apache.hc.core5.http.{ClassicHttpResponse, MessageConstraintException, ProtocolException}

/** A response has more of something than any sound server sends. Another attempt would bring the same.
  *
  * @param reason
  *   what it has too much of, and the limit
  */
final private[http] class ResponseLimitException(val reason: String) extends IOException(reason)

/** What a response may have before and around its body, so that no server can take memory or time without end by it. The size
  * of the body is `maxResponseBytes`; the time is [[RequestLimits]].
  */
private[http] object ResponseLimits {

  /** Of a line in the head, in a chunk's head, and in the trailers; without its end. */
  val MaxLineBytes: Int = (64 << 10) - 1
  val MaxHeaders = 200
  val MaxEmptyLines = 9

  /** Responses of 1xx before the one that counts. */
  val MaxInterim = 20

  def config(bufferSize: Int): Http1Config = Http1Config
    .custom()
    .setBufferSize(bufferSize)
    .setMaxLineLength(MaxLineBytes + 1)
    .setMaxHeaderCount(MaxHeaders + 1)
    .setMaxEmptyLineCount(MaxEmptyLines + 1)
    .build()

  /** Makes a parser for each connection. */
  def parsers(config: Http1Config): HttpMessageParserFactory[ClassicHttpResponse] =
    new HttpMessageParserFactory[ClassicHttpResponse] {
      override def create(ignored: Http1Config): HttpMessageParser[ClassicHttpResponse] = new HeadParser(config)
      override def create(): HttpMessageParser[ClassicHttpResponse] = new HeadParser(config)
    }

  /** The limit that the client's library found exceeded; it says so by its message alone. */
  def reason(error: MessageConstraintException): String = String.valueOf(error.getMessage) match {
    case text if text.contains("line length")  => s"a line of its head or chunks has more than $MaxLineBytes bytes"
    case text if text.contains("header count") => s"it has more than $MaxHeaders headers"
    case text if text.contains("empty line")   => s"it begins with more than $MaxEmptyLines empty lines"
    case text                                  => text
  }

  /** What may come over the wire for a body of at most `bytes`: its chunks may be as small as they can be. */
  def wireBytes(bytes: Long): Long = bytes * 8 + (1L << 20)

  /** What a compressed body may have that has at most `bytes` when it is decompressed. */
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
