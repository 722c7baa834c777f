package io.epochal.rest.source.fan

import java.nio.file.Files

import org.scalatest.funsuite.AnyFunSuite

import io.epochal.rest.source.{PageRequest, RestOptions}

final class FanOutOptionsSuite extends AnyFunSuite {

  private val table = """[{"repo": "a/b ü", "n": 1}, {"repo": "\"q\"", "n": 2}]"""
  private val template = "http://127.0.0.1:1/repos/${repo}/items"

  private def read(options: (String, String)*): Either[io.epochal.core.error.EpochalException, RestOptions] =
    RestOptions.read(Map("url" -> template, "partitionParams" -> table) ++ options)

  private def members(options: (String, String)*): Seq[RestOptions] = {
    val whole = read(options: _*).fold(throw _, identity)
    whole.fanOut.get.table.map(whole.fanOut.get.member(_, whole))
  }

  private def refused(condition: String, said: String, options: (String, String)*): Unit = {
    val error = read(options: _*).left.toOption.get
    assert(error.condition.name == condition && error.getMessage.contains(said), error.getMessage)
    ()
  }

  test("values are percent-encoded in url and params, and escaped in texts of a JSON body") {
    val found = members("params.of" -> "${n} & ${repo}", "requestBody" -> """{"n": ${n}, "repo": "${repo}"}""")
    val calls = found.map(_.requests.call(PageRequest("", 0, 1)))
    assert(
      calls.map(_.target) == Seq(
        "/repos/a%2Fb%20%C3%BC/items?of=1%20%26%20a%2Fb%20%C3%BC",
        "/repos/%22q%22/items?of=2%20%26%20%22q%22"))
    assert(
      calls.map(call => new String(call.body.get.bytes, "UTF-8")) ==
        Seq("""{"n": 1, "repo": "a/b ü"}""", """{"n": 2, "repo": "\"q\""}"""))
  }

  test("paging placeholders stay besides those for parameters") {
    val body = """{"repo": "${repo}", "from": ${offset}, "size": ${limit}}"""
    val call = members("pagination" -> "offset", "requestBody" -> body).head.requests.call(PageRequest("", 20, 10))
    assert(new String(call.body.get.bytes, "UTF-8") == """{"repo": "a/b ü", "from": 20, "size": 10}""")
  }

  test("the identity is the template's, for any table, and a member's identity contains its row") {
    def source(options: (String, String)*) = read(options: _*).fold(throw _, identity).source
    assert(source() == "http://127.0.0.1:1/repos/%7Brepo%7D/items (none)")
    assert(source("partitionParams" -> """[{"repo": "z", "n": 3}]""") == source())
    assert(
      source("params.state" -> "${n}") != source() && source("params.state" -> "open") != source(
        "params.state" -> "${n}"))
    assert(members().map(_.source.drop(source().length)) == Seq(" [n=1, repo=a/b ü]", " [n=2, repo=\"q\"]"))
  }

  test("the table may be a file with an object in each line") {
    val file = Files.createTempFile("table", ".jsonl")
    Files.writeString(file, "{\"repo\": \"a/b ü\", \"n\": 1}\n\n{\"repo\": \"\\\"q\\\"\", \"n\": 2}\n")
    assert(
      read("partitionParams" -> file.toString).toOption.get.fanOut.get.table == read().toOption.get.fanOut.get.table)
    Files.writeString(file, "{\"repo\": 1, \"n\": 1}\n{\"repo\"")
    refused("OPTION_INVALID", "an object in each line", "partitionParams" -> file.toString)
    refused("OPTION_INVALID", "an object in each line", "partitionParams" -> s"$file.none")
  }

  test("all members share one budget") {
    val whole = read("requestsPerSecond" -> "5").fold(throw _, identity)
    assert(members("requestsPerSecond" -> "5").map(_.requests.http.query).distinct.size == 1)
    val first = whole.fanOut.get.first(whole).requests.http
    assert(first.query == whole.requests.http.query && first.budget == whole.requests.http.budget)
  }

  test("an invalid table is refused with the expected form") {
    Seq(
      "x" -> "a JSON array",
      "[]" -> "one or more objects",
      "{}" -> "a JSON array",
      "[1]" -> "objects whose values",
      """[{"repo": null}]""" -> "objects whose values",
      """[{"repo": ["a"]}]""" -> "objects whose values",
      """[{"repo": "${page}"}]""" -> "without ${",
      """[{"repo": "a"}, {"repo": "a"}]""" -> "whose objects are all different",
      """[{"repo": "a"}, {"rep": "a"}]""" -> "the same names",
      """[{"repo": "a", "page": 1}]""" -> "none of cursor",
      """[{"re po": "a"}]""" -> "letters"
    ).foreach { case (text, said) => refused("OPTION_INVALID", said, "partitionParams" -> text) }
  }

  test("placeholders without a value, tables without a placeholder, and tables over several servers are refused") {
    refused("OPTION_CONFLICT", "${owner} in url or params", "url" -> "http://127.0.0.1/${owner}/${repo}")
    refused("OPTION_CONFLICT", "no place for any of its names", "url" -> "http://127.0.0.1/c")
    refused("OPTION_CONFLICT", "onDrift=restart", "pagination" -> "page", "onDrift" -> "restart")
    Seq("http://${repo}/c", "http://${repo}.example.com", "${repo}://127.0.0.1/c").foreach { url =>
      refused("OPTION_CONFLICT", "a query for each server", "url" -> url)
    }
    refused("OPTION_CONFLICT", "${owner} in requestBody", "requestBody" -> "${owner}")
  }

  test("_params requires a table, and is available with a journal too") {
    val alone = RestOptions.read(Map("url" -> "http://127.0.0.1/c", "metadataColumns" -> "_params")).left.toOption.get
    assert(alone.getMessage.contains("_params without partitionParams"))
    assert(read("metadataColumns" -> "_params", "pagination" -> "link").isRight)
  }
}
