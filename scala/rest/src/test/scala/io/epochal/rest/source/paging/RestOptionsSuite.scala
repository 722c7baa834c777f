package io.epochal.rest.source.paging

import org.apache.spark.sql.connector.read.streaming.ReadLimit
import org.apache.spark.sql.types.StructType
import org.scalatest.funsuite.AnyFunSuite

import io.epochal.core.error.EpochalException
import io.epochal.kit.record.RecordSchema
import io.epochal.kit.source.ReadLimits
import io.epochal.rest.source._

/** Checks of the options when the DataFrame is built. */
final class RestOptionsSuite extends AnyFunSuite {
  private val columns = new RecordSchema(RestOptions.Format)

  private val url = "url" -> "http://127.0.0.1/comments"

  private def read(options: (String, String)*): RestOptions = RestOptions.read(options.toMap).fold(throw _, identity)

  private def refused(options: (String, String)*): EpochalException =
    RestOptions.read(options.toMap).fold(identity, good => fail(s"was taken: $good"))

  private def target(query: String, options: (String, String)*): String =
    read(options: _*).requests.endpoint.target(query)

  test("an unknown option is refused with the nearest known one") {
    val error = refused(url, "pagesize" -> "5", "pagenation" -> "offset")
    assert(error.condition.name == "OPTION_UNKNOWN" && error.getMessage.contains("Did you mean 'pagination'?"))
  }

  test("a missing URL, and an invalid one, are refused") {
    assert(refused().getMessage.contains("needs the option 'url'"))
    Seq(
      "ftp://host/x" -> "an http or https URL",
      "http:///x" -> "a URL",
      "comments" -> "an http or https URL",
      "http://ho st/x" -> "a URL",
      "file:/etc/passwd" -> "an http or https URL").foreach { case (text, expected) =>
      val error = refused("url" -> text)
      assert(error.condition.name == "OPTION_INVALID" && error.getMessage.contains(s"is not $expected"), text)
    }
  }

  test("values of the wrong type are refused by name") {
    Seq(
      "pageSize" -> "0",
      "firstPage" -> "-1",
      "pagination" -> "pages",
      "records" -> "data.items",
      "timeout" -> "soon",
      "maxResponseBytes" -> "much",
      "numPartitions" -> "0",
      "failOnDataLoss" -> "perhaps",
      "retry.maxAttempts" -> "0")
      .foreach { case (name, value) =>
        val error = refused(url, "pagination" -> "page", name -> value)
        assert(error.condition.name == "OPTION_INVALID" && error.getMessage.contains(s"'$name'"), name)
      }
  }

  test("options of another pagination than the selected one are refused") {
    def refusal(kind: String, option: (String, String)): String = refused(url, "pagination" -> kind, option).getMessage
    assert(refusal("offset", "pageParam" -> "p").contains("[EPOCHAL.OPTION_CONFLICT]"))
    assert(refusal("offset", "pageParam" -> "p").contains("Set pagination=page, or leave pageParam out."))
    assert(refusal("page", "offsetParam" -> "o").contains("Set pagination=offset"))
    assert(refusal("none", "pageSize" -> "5").contains("Set pagination=offset or page"))
  }

  test("followed pages need one place for the next page's name, outside the records") {
    def refusal(kind: String, options: (String, String)*): String =
      refused(Seq(url, "pagination" -> kind, "records" -> "/data") ++ options: _*).getMessage
    assert(refusal("cursor").contains("needs the option 'nextCursor'"))
    assert(refusal("next-url").contains("needs the option 'nextUrl'"))
    assert(refusal("keyset").contains("needs the option 'keyField'"))
    assert(refusal("keyset", "keyField" -> "/id", "cursorHeader" -> "Host").contains("OPTION_INVALID"))
    assert(refusal("cursor", "nextCursor" -> "/n", "nextCursorHeader" -> "X").contains("OPTION_CONFLICT"))
    assert(
      refusal("cursor", "nextCursor" -> "/n", "cursorParam" -> "c", "cursorHeader" -> "X").contains("cursorHeader"))
    assert(refusal("cursor", "nextCursor" -> "/data/5/id").contains("the pointer '/data/5/id' into the records"))
    val newest = "nextCursor" -> "/data/0/id"
    assert(refusal("cursor", newest).contains("nextCursor=/data/0/id without firstCursor"))
    Seq("hasMore" -> "/more", "lastPage" -> "/end").foreach { flag =>
      assert(refusal("cursor", newest, "firstCursor" -> "x", flag).contains(s"nextCursor=/data/0/id, ${flag._1}"))
    }
    assert(refusal("link", "hasMore" -> "/data").contains("into the records"))
    assert(refusal("next-url", "nextUrl" -> "next").contains("OPTION_INVALID"))
    assert(refusal("cursor", "nextCursor" -> "/n", "pageSize" -> "5").contains("Set pagination=offset or page"))
    assert(refusal("offset", "hasMore" -> "/m").contains("Set pagination=cursor or keyset or link or next-url"))
    assert(refusal("link", "journal" -> "false").contains("always journalled"))
    assert(refusal("cursor", "nextCursor" -> "/n", "params.cursor" -> "x").contains("the parameter 'cursor'"))
    val bare = refused(url, "pagination" -> "cursor", "nextCursor" -> "/n")
    assert(bare.getMessage.contains("records=(unset)"))
    Seq(
      Seq("pagination" -> "cursor", "nextCursorHeader" -> "X", "cursorHeader" -> "Y", "params.cursor" -> "x"),
      Seq("pagination" -> "link", "linkRel" -> "more", "maxPages" -> "5"),
      Seq("pagination" -> "next-url", "nextUrl" -> "/data2/next", "records" -> "/data", "journal" -> "true"),
      Seq("pagination" -> "page", "journal" -> "true")).foreach(options => assert(read(url +: options: _*).journal))
  }

  test("the parameters that select the page cannot be set a second time") {
    Seq(Seq(url, "params._start" -> "5"), Seq("url" -> "http://127.0.0.1/c?_start=5")).foreach { options =>
      val error = refused(options :+ ("pagination" -> "offset"): _*)
      assert(error.condition.name == "OPTION_CONFLICT" && error.getMessage.contains("'_start'"))
    }
    assert(target("", "url" -> "http://127.0.0.1/c?_start=5") == "/c?_start=5")
  }

  test("a query in the URL is kept, and parameters are encoded and added") {
    assert(target("p=1", url) == "/comments?p=1")
    assert(target("", url) == "/comments")
    assert(target("p=1", "url" -> "http://h") == "/?p=1")
    assert(target("p=1", "url" -> "http://h/a%20b?x=%2F&y#fragment") == "/a%20b?x=%2F&y&p=1")
    assert(target("", url, "params.q" -> "a b&c=ü", "params.a[]" -> "1") == "/comments?a%5B%5D=1&q=a%20b%26c%3D%C3%BC")
    assert(target("", "url" -> "http://h/ä") == "/%C3%A4")
    assert(target("", "url" -> "http://h/c?q=100%&x=%20") == "/c?q=100%25&x=%20")
  }

  test("headers are sent as given and replace defaults; those of the connection are refused") {
    val headers = read(url, "headers.X-Key" -> " k ", "headers.accept" -> "text/json").requests.endpoint.headers.toMap
    assert(headers("X-Key") == "k" && headers("accept") == "text/json" && !headers.contains("Accept"))
    assert(headers("Accept-Encoding") == "gzip, zstd" && headers("User-Agent").startsWith("epochal/"))
    Seq("headers.Host" -> "h", "headers.Content-Length" -> "1", "headers.X Y" -> "v", "headers.X" -> "a\r\nY: b")
      .foreach { option =>
        val error = refused(url, option)
        assert(error.condition.name == "OPTION_INVALID" && error.getMessage.contains("***"), option)
      }
  }

  test("user info in the URL becomes basic authentication, once") {
    val withUser = "url" -> "http://me:p%40ss@127.0.0.1/c"
    assert(read(withUser).requests.endpoint.headers.contains("Authorization" -> "Basic bWU6cEBzcw=="))
    assert(refused(withUser, "headers.authorization" -> "Bearer x").condition.name == "OPTION_CONFLICT")
  }

  test("secrets are in no text of the options, and in no error") {
    val secrets = Seq("hunter2", "tok3n", "k3y", "pr1vate")
    val good =
      Seq("url" -> "http://me:hunter2@127.0.0.1/c?token=tok3n", "headers.X-Key" -> "k3y", "params.secret" -> "pr1vate")
    val texts =
      read(good: _*).toString +: Seq("pageSize" -> "0", "nope" -> "x", "headers.Y" -> "k3y\nk3y", "schema" -> "")
        .map(bad => refused(good :+ bad: _*).getMessage)
    texts.foreach(text => secrets.foreach(secret => assert(!text.contains(secret))))
    secrets.foreach(secret =>
      assert(!refused(good.tail :+ ("url" -> s"nowhere://me:$secret@h/?a=$secret"): _*).getMessage.contains(secret)))
  }

  test("the identity is the URL without user info and query, with the pagination, or sourceId") {
    assert(read("url" -> "http://me:pw@h:8080/c#f", "pagination" -> "offset").source == "http://h:8080/c (offset)")
    assert(
      read("url" -> "http://me:pw@h:8080/c#f", "pagination" -> "page").source == "http://h:8080/c (page, firstPage=1)")
    assert(read(url, "sourceId" -> "comments").source == "comments")
  }

  test("the read limits are those of every source") {
    assert(ReadLimits.of(read(url, "maxRowsPerBatch" -> "10").values) == ReadLimit.maxRows(10))
    assert(ReadLimits.of(read(url).values) == ReadLimit.allAvailable())
  }

  test("a schema that JSON cannot fill is refused, naming the column") {
    def refusal(ddl: String): EpochalException =
      columns
        .of(StructType.fromDDL(ddl), None, read(url).rules)
        .fold(identity, good => fail(s"was taken: ${good.toDDL}"))
    Seq(
      "a INT, b VOID" -> "b is VOID",
      "a STRUCT<b: MAP<INT, STRING>>" -> "a.b is MAP<INT, STRING>",
      "a ARRAY<CHAR(3)>" -> "a.element is CHAR(3)",
      "a INT, a STRING" -> "two columns 'a'").foreach { case (ddl, reason) =>
      assert(refusal(ddl).condition.name == "SCHEMA_INVALID" && refusal(ddl).getMessage.contains(reason), ddl)
    }
    assert(columns.of(new StructType(), None, read(url).rules).left.exists(_.getMessage.contains("no columns")))
    assert(columns.parse("id INTEGERS").left.exists(_.condition.name == "SCHEMA_INVALID"))
  }

  test("every type that Spark's JSON parser reads is accepted") {
    val ddl =
      "a BOOLEAN, b TINYINT, c SMALLINT, d INT, e BIGINT, f FLOAT, g DOUBLE, h DECIMAL(10,2), i STRING, j BINARY, " +
        "k DATE, l TIMESTAMP, m TIMESTAMP_NTZ, n VARIANT, o ARRAY<STRUCT<x: INT>>, p MAP<STRING, INT>, q INTERVAL DAY TO SECOND"
    assert(columns.of(StructType.fromDDL(ddl), None, read(url).rules).isRight)
  }

  test("a schema given twice must be the same") {
    val schema = StructType.fromDDL("id INT")
    val rules = read(url).rules
    assert(columns.of(schema, Some("id INT NOT NULL"), rules).left.exists(_.condition.name == "OPTION_CONFLICT"))
    assert(columns.of(schema, Some("id INT"), rules).contains(schema))
  }
}
