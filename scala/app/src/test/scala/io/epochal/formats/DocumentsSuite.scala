package io.epochal.formats

import java.nio.file.Files

import org.scalatest.funsuite.AnyFunSuite

import io.epochal.formats.Epochal

final class DocumentsSuite extends AnyFunSuite {

  Documents.all.foreach { case (path, text) =>
    test(s"${path.getFileName} matches the declarations in the code (if not, run `make docs`)") {
      assert(Files.readString(path) == text)
    }
  }

  test("every option has a description, and an example and a default of its type") {
    Epochal.formats.foreach { group =>
      group.specs.foreach { spec =>
        assert(spec.doc.endsWith("."), s"${group.format} ${spec.name}")
        assert(spec.sample.forall(spec.kind.parse(_).nonEmpty), s"${group.format} ${spec.name}")
        assert(spec.defaultText.forall(spec.kind.parse(_).nonEmpty), s"${group.format} ${spec.name}")
      }
    }
  }

  test("no option is declared twice, in any case") {
    Epochal.formats.foreach { group =>
      val names = group.specs.map(_.name.toLowerCase(java.util.Locale.ROOT).replaceAll("[^a-z]", ""))
      assert(names.distinct == names, group.format)
    }
  }

  test("the version is the release's") {
    assert(Epochal.version.matches("\\d+\\.\\d+\\.\\d+.*"))
  }
}
