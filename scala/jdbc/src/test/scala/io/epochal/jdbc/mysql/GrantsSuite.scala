package io.epochal.jdbc.mysql

import java.sql.SQLException

import org.scalatest.funsuite.AnyFunSuite

import io.epochal.jdbc.database.WriteNeeds
import io.epochal.jdbc.option.JdbcOptions
import io.epochal.kit.database.QualifiedName

final class GrantsSuite extends AnyFunSuite {

  private val options =
    JdbcOptions.read(Map("url" -> "jdbc:mysql://h/shop_1", "dbtable" -> "t")).fold(throw _, identity)
  private val needs = WriteNeeds(options, QualifiedName("shop_1", "t"), None, None, keepsLedger = true)
  private def lacking(lines: String*): Option[Seq[String]] = Grants.of(lines).map(_.lacking(needs, Set.empty))

  test("grants on the server, and on databases by name and by wildcards, are sufficient") {
    val all = "INSERT, SELECT, UPDATE, DELETE, CREATE"
    Seq(
      "GRANT ALL PRIVILEGES ON *.* TO `u`@`%` WITH GRANT OPTION",
      s"GRANT $all, `some_dynamic` ON *.* TO `u`@`%`",
      s"GRANT $all ON `shop_1`.* TO `u`@`%`",
      s"GRANT $all ON `shop\\_1`.* TO `u`@`%`",
      s"GRANT $all ON `sh%`.* TO `u`@`%`",
      "GRANT ALL PRIVILEGES ON `shop__`.* TO `u`@`%`"
    ).foreach(line =>
      assert(lacking("GRANT USAGE ON *.* TO `u`@`%`", "GRANT PROXY ON ''@'%' TO `u`@`%`", line).contains(Nil), line))
  }

  test("a parenthesis in a column's name ends no list; errors without a message are read") {
    val all = "SELECT, INSERT (`a)b`, `id`), UPDATE, DELETE, CREATE"
    assert(lacking(s"GRANT $all ON `shop_1`.* TO `u`@`%`").contains(Nil))
    assert(!MysqlErrors.isFull(new SQLException(null: String, "HY000", 1030)))
  }

  test("other grants are not") {
    Seq(
      "GRANT USAGE ON *.* TO `u`@`%`",
      "GRANT ALL PRIVILEGES ON `shop\\_`.* TO `u`@`%`",
      "GRANT ALL PRIVILEGES ON `shop`.* TO `u`@`%`",
      "GRANT SELECT, INSERT (`id`) ON `shop_1`.`t` TO `u`@`%`",
      "GRANT EXECUTE ON PROCEDURE `shop_1`.`t` TO `u`@`%`"
    ).foreach(line => assert(lacking(line).exists(_.head.endsWith("CREATE ON `shop_1`.*")), line))
  }

  test("roles and partial revokes make the answer unknown") {
    assert(lacking("GRANT USAGE ON *.* TO `u`@`%`", "GRANT `loaders`@`%` TO `u`@`%`").isEmpty)
    assert(lacking("GRANT ALL PRIVILEGES ON *.* TO `u`@`%`", "REVOKE INSERT ON `shop_1`.* FROM `u`@`%`").isEmpty)
  }
}
