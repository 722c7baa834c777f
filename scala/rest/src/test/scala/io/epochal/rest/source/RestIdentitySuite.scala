package io.epochal.rest.source

import org.scalatest.funsuite.AnyFunSuite

import io.epochal.kit.source.Extent
import io.epochal.rest.source.supply.SearchedList

final class RestIdentitySuite extends AnyFunSuite {

  private def source(more: (String, String)*): String =
    RestOptions.read(Map("url" -> "http://h/comments") ++ more).fold(throw _, identity).source

  test("every option that selects the records is in the identity, and no two selections share one") {
    val all = Seq(
      source(),
      source("params.postId" -> "1"),
      source("params.postId" -> "2"),
      source("url" -> "http://h/comments?postId=3"),
      source("records" -> "/data/items"),
      source("pagination" -> "offset"),
      source("pagination" -> "page"),
      source("pagination" -> "page", "firstPage" -> "0"),
      source("pagination" -> "link"),
      source("pagination" -> "cursor", "nextCursorHeader" -> "X"),
      source("pagination" -> "keyset", "keyField" -> "/id"),
      source("pagination" -> "cursor", "nextCursorHeader" -> "X", "firstCursor" -> "*"),
      source("pagination" -> "next-url", "nextUrl" -> "/next", "records" -> "/data"))
    assert(all.distinct == all)
  }

  test("a parameter's value is not in the identity, nor is the page size") {
    assert(!source("params.api_key" -> "s3cret").contains("s3cret"))
    assert(
      source("pagination" -> "offset", "pageSize" -> "7", "numPartitions" -> "3") == source("pagination" -> "offset"))
  }

  test("a server whose pages are smaller than requested is detected when its list grows, even from exactly that size") {
    Seq(10L, 30L).foreach { first =>
      var total = first
      val cap = 30L // The server ignores our parameter for the size.
      val finder = new SearchedList(
        Pagination.ByPage("page", "size", 1, 100),
        request => {
          val page = "page=(\\d+)".r.findFirstMatchIn(request.query).get.group(1).toLong
          PageFacts(math.max(0L, math.min(cap, total - (page - 1) * cap)))
        }
      )
      assert(finder.find(0, 50) == Extent(first, first))
      total = 100
      SearchedList.refused((1 to 40).foreach(_ => finder.find(first, 50)))
    }
  }
}
