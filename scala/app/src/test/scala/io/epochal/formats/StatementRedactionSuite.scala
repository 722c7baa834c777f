package io.epochal.formats

import org.scalatest.funsuite.AnyFunSuite

final class StatementRedactionSuite extends AnyFunSuite {

  private val mark = "sesame"
  private def masked(text: String): String = StatementRedaction.statement.replaceAllIn(text, "***")

  test("secrets in a statement are redacted, in any spelling of its options") {
    Seq(
      s"CREATE TEMPORARY VIEW v USING `epochal-rest` OPTIONS (url 'http://h', headers.Authorization 'Bearer $mark')",
      s"create temp view v using `epochal-rest`\noptions\n(\n  `headers.X-Key` = '$mark', schema 'id INT')",
      s"CREATE TABLE t (id INT) USING `epochal-jdbc` OPTIONS (url 'jdbc:x', password 'it''s $mark')",
      s"CREATE TABLE t USING io.epochal.rest.RestFormat OPTIONS ('apiKey' = 'a' || '$mark')",
      s"CREATE TABLE t USING parquet OPTIONS (bearerToken $mark)",
      s"CREATE TEMPORARY VIEW v USING `epochal-rest` OPTIONS (unknown '$mark')",
      s"SELECT * FROM t WITH ('params.key' = '$mark')",
      s"INSERT INTO t WITH (`connection.sslpassword` = '$mark') SELECT 1",
      s"ALTER TABLE t SET TBLPROPERTIES ('option.headers.x' = '$mark')",
      s"ALTER TABLE t SET SERDEPROPERTIES (oauth.clientSecret '$mark')",
      s"CREATE TABLE t USING x OPTIONS (url 'https://h/p?key=$mark')",
      s"CREATE TABLE t USING x OPTIONS ('url' = 'https://me:$mark@h/p')",
      s"CREATE TEMPORARY VIEW v USING `epochal-rest` OPTIONS (apiKey '$mark[truncated(size=9999)]"
    ).foreach(text => assert(!masked(text).contains(mark), text))
  }

  test("secrets in a Spark Connect plan are redacted") {
    def option(key: String, value: String): String =
      "options {\n  key: \"" + key + "\"\n  value: \"" + value + "\"\n}\n"
    val read = "read {\n data_source {\n format: \"epochal-rest\"\n" + option("url", "http://h") + option("zzz", mark)
    val unknown = "read {\n data_source {\n format: \"x\"\n" + option("headers.X", mark)
    val sql = s"sql_command {\\n sql: \"CREATE TEMPORARY VIEW v USING `epochal-rest` OPTIONS (apiKey \\'$mark\\')\"\n}"
    Seq(read, unknown, sql).foreach(text => assert(!masked(text).contains(mark), text))
  }

  test("options in a parsed plan that creates a view or a table are redacted") {
    Seq(
      s"CreateTempViewUsing [tableIdent:`v` StructType()) replace:false provider:epochal-rest HashMap(parms.key -> $mark)",
      s"CreateTable [id], TableSpec(Map(),Some(epochal-rest),HashMap(params.key -> $mark, url -> http://h),None), false",
      s"TableSpec(Map(),Some(epochal-jdbc),Map(password -> $mark)), false\n+- ResolvedIdentifier",
      s"TableSpec(Map(),Some(epochal-cdc),Map(password -> $mark)), false\n+- ResolvedIdentifier"
    ).foreach(text => assert(!masked(text).contains(mark), text))
  }

  test("text without secrets is unchanged") {
    Seq(
      "SELECT headers.host, user FROM t WHERE user = 'bob' AND params.x = 'a'",
      "CREATE TABLE t USING parquet OPTIONS (path '/data/x', compression 'zstd')",
      "WITH (SELECT 1)",
      "== Physical Plan ==\nBatchScan epochal-rest[http://h/comments] RuntimeFilters: []",
      "options {\n key: \"path\"\n value: \"/x\"\n}"
    ).foreach(text => assert(masked(text) == text))
  }

  test("a long text is redacted quickly") {
    val plan = "BatchScan epochal-rest[x] options { " * 3000
    val began = System.nanoTime()
    val _ = masked(plan + "with (" * 3000)
    assert(System.nanoTime() - began < 20e9)
  }
}
