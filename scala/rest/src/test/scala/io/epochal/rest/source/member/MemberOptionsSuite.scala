package io.epochal.rest.source.member

import org.scalatest.funsuite.AnyFunSuite

import io.epochal.core.error.EpochalException
import io.epochal.rest.source.{Lineage, RestOptions}

final class MemberOptionsSuite extends AnyFunSuite {

  private val child = Map(
    "url" -> "https://api.example.com/repos/${owner}/${repo}/issues",
    "parent.url" -> "https://api.example.com/repos",
    "parent.fields" -> "owner=/owner/login,repo=/name")

  private def read(more: (String, String)*): Either[EpochalException, RestOptions] = RestOptions.read(child ++ more)

  private def levels(more: (String, String)*) = read(more: _*).fold(throw _, identity).lineage.get.levels

  private def refused(condition: String, said: String, more: (String, String)*): Unit = {
    val error = read(more: _*).left.toOption.get
    val _ = assert(error.condition.name == condition && error.getMessage.contains(said), error.getMessage)
  }

  private val secrets = Seq(
    "bearerToken" -> "hunter2",
    "headers.X-Tenant" -> "hunter3",
    "headers.X-Owner" -> "${owner}",
    "params.key" -> "hunter4",
    "requestsPerSecond" -> "5",
    "timeout" -> "3s")

  test("on the same server a parent has the credentials, headers and limits of its child, and shares its budget") {
    val Seq(parent, leaf) = levels(secrets: _*)
    val http = parent.template.requests.http
    assert(http.auth == leaf.template.requests.http.auth && http.auth.nonEmpty)
    assert(http.endpoint.headers.contains("X-Tenant" -> "hunter3"))
    assert(!http.endpoint.headers.exists(_._1 == "X-Owner") && !http.endpoint.target("").contains("hunter4"))
    assert(http.transport == leaf.template.requests.http.transport && http.budget == leaf.template.requests.http.budget)
    assert(http.query == leaf.template.requests.http.query)
  }

  test("a parent on another server gets none of them") {
    Seq(
      "https://other.example.com/repos",
      "http://api.example.com/repos",
      "https://api.example.com:8443/repos",
      "https://api.example.com.evil.org/repos",
      "https://api.example.com@evil.org/repos").foreach { url =>
      val Seq(parent, leaf) = levels(secrets :+ ("parent.url" -> url): _*)
      val http = parent.template.requests.http
      assert(http.auth.isEmpty && !http.endpoint.headers.exists(_._2.contains("hunter")), url)
      assert(http.budget.requestsPerSecond.isEmpty && http.query != leaf.template.requests.http.query)
    }
    assert(Lineage.sameServer("HTTPS://API.example.com:443/x", "https://api.example.com/y"))
  }

  test("a grandparent behind another server does not get what the child has") {
    val Seq(root, middle, leaf) = levels(
      secrets ++ Seq(
        "url" -> "https://api.example.com/repos/${owner}/${repo}/${n}",
        "parent.url" -> "https://other.example.com/repos/${owner}/${repo}",
        "parent.bearerToken" -> "middle",
        "parent.fields" -> "n=/n",
        "parent.parent.url" -> "https://api.example.com/repos",
        "parent.parent.fields" -> "owner=/owner/login,repo=/name"): _*)
    assert(leaf.names == Seq("owner", "repo", "n") && middle.names == Seq("owner", "repo"))
    assert(root.template.requests.http.auth.isEmpty && middle.template.requests.http.auth.size == 1)
  }

  test("a parent's own credentials and limits replace those of its child") {
    val Seq(parent, leaf) = levels(secrets ++ Seq("parent.apiKey" -> "own", "parent.requestsPerSecond" -> "1"): _*)
    assert(
      parent.template.requests.http.auth.size == 1 && parent.template.requests.http.auth != leaf.template.requests.http.auth)
    assert(parent.template.requests.http.budget.requestsPerSecond.contains(1.0))
    assert(parent.template.requests.http.query != leaf.template.requests.http.query)
    val Seq(withUser, _) = levels("url" -> "https://me:hunter5@api.example.com/repos/${owner}/${repo}")
    assert(withUser.template.requests.endpoint.hasUserInfo)
    val Seq(without, _) = levels(
      "url" -> "https://me:hunter5@api.example.com/repos/${owner}/${repo}",
      "parent.url" -> "https://other.example.com/repos")
    assert(!without.template.requests.endpoint.hasUserInfo)
  }

  test("the identity names the child and its parents, without values") {
    val options = read("params.token" -> "hunter2", "pagination" -> "link", "parent.pagination" -> "page").toOption.get
    assert(
      options.source.matches(
        "https://api.example.com/repos/%7Bowner%7D/%7Brepo%7D/issues \\(link, parameters #[0-9a-f]{12}\\) of " +
          "https://api.example.com/repos \\(page, firstPage=1\\)"))
    assert(read("sourceId" -> "mine").toOption.get.source == "mine")
  }

  test("only the values that select a list identify it") {
    val Seq(_, leaf) = levels("parent.fields" -> "owner=/owner/login,repo=/name,stars=/stars")
    assert(leaf.keys == Seq("owner", "repo") && leaf.names == Seq("owner", "repo", "stars"))
  }

  test("a list above the members is selected by the values that lists below it need, too") {
    val lineage = read(
      "url" -> "https://api.example.com/${region}/${repo}",
      "parent.url" -> "https://api.example.com/repos?owner=${owner}",
      "parent.fields" -> "repo=/name",
      "parent.parent.url" -> "https://api.example.com/owners",
      "parent.parent.fields" -> "owner=/login,region=/region,stars=/stars"
    ).toOption.get.lineage.get
    assert(lineage.keys == Seq(Nil, Seq("owner", "region"), Seq("region", "repo")))
  }

  test("misplaced and missing options are refused") {
    refused("OPTION_CONFLICT", "${number} in url or params", "url" -> "https://api.example.com/${owner}/${number}")
    refused("OPTION_CONFLICT", "no place for any of its names", "url" -> "https://api.example.com/issues")
    refused("OPTION_CONFLICT", "a query for each server", "url" -> "https://${owner}.example.com/${repo}")
    refused("OPTION_INVALID", "name=/pointer", "parent.fields" -> "owner")
    refused("OPTION_INVALID", "each given once", "parent.fields" -> "owner=/a,owner=/b")
    refused("OPTION_INVALID", "none of cursor", "parent.fields" -> "owner=/a,repo=/b,page=/c")
    refused("OPTION_UNKNOWN", "epochal-rest (parent.*) has no option 'parent.pageSiz'", "parent.pageSiz" -> "1")
    refused("OPTION_CONFLICT", "parent.schema", "parent.schema" -> "id INT")
    refused("OPTION_CONFLICT", "partitionParams", "partitionParams" -> """[{"owner": "x"}]""")
    refused("OPTION_CONFLICT", "ignoreStatuses", "ignoreStatuses" -> "404")
    refused("OPTION_CONFLICT", "verifyPosition", "pagination" -> "page", "verifyPosition" -> "always")
    refused("OPTION_INVALID", "one of owner, repo", "paramColumns" -> "ownr")
    refused(
      "OPTION_CONFLICT",
      "levels",
      Seq.tabulate(3)(n => s"${"parent." * (n + 1)}url" -> "https://api.example.com/${a}") ++
        Seq.tabulate(3)(n => s"${"parent." * (n + 1)}fields" -> "owner=/a,repo=/b"): _*)
    val alone = RestOptions.read(child - "parent.url").left.toOption.get
    assert(alone.condition.name == "OPTION_REQUIRED" && alone.getMessage.contains("parent.url"))
    val columns =
      RestOptions.read(Map("url" -> "https://api.example.com/c", "paramColumns" -> "owner")).left.toOption.get
    assert(columns.condition.name == "OPTION_CONFLICT")
  }

  test("an unknown option of any level is reported before a missing one") {
    def unknown(raw: Map[String, String]): String = {
      val error = RestOptions.read(raw).left.toOption.get
      assert(error.condition.name == "OPTION_UNKNOWN", error)
      error.getMessage
    }
    val url = Map("url" -> "https://api.example.com/${owner}/${repo}")
    val one = unknown(url + ("parent.recods" -> "/data"))
    assert(one.contains("'parent.recods'") && one.contains("Did you mean 'parent.records'"), one)
    val two = unknown(url + ("parent.parent.recods" -> "/data"))
    assert(two.contains("'parent.parent.recods'") && two.contains("Did you mean 'parent.parent.records'"), two)
    assert(unknown(url + ("parent.recods" -> "/data") + ("recods" -> "/data")).contains("has no option 'recods'"))
  }
}
