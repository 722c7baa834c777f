package io.epochal.core.option

import java.util.Locale

/** Finds the nearest word, for suggestions. */
object Nearest {

  /** The candidate with the smallest edit distance, if it is small enough for a typing error. */
  def of(word: String, candidates: Seq[String]): Option[String] = {
    val lower = normal(word)
    candidates
      .map(candidate => candidate -> distance(lower, normal(candidate)))
      .filter { case (candidate, d) => d <= math.max(1, math.min(word.length, candidate.length) / 3) }
      .minByOption(_._2)
      .map(_._1)
  }

  private def normal(word: String): String = word.toLowerCase(Locale.ROOT).replaceAll("[_\\-]", "")

  /** Levenshtein's edit distance (Wagner and Fischer's algorithm, one row at a time). */
  private def distance(a: String, b: String): Int =
    a.foldLeft((0 to b.length).toVector) { (above, ca) =>
      b.indices.foldLeft(Vector(above.head + 1)) { (row, j) =>
        row :+ math.min(math.min(row.last, above(j + 1)) + 1, above(j) + (if (ca == b(j)) 0 else 1))
      }
    }.last
}
