package io.epochal.formats

import java.nio.file.Files

import org.scalatest.funsuite.AnyFunSuite

import io.epochal.formats.Epochal

final class DocumentsSuite extends AnyFunSuite {

  Documents.all.foreach { case (path, text) =>
    test(s"${path.getFileName} says what the code declares (if not, run `make docs`)") {
      assert(Files.readString(path) == text)
    }
  }

  test("every option has a meaning, an example of its own type, and a default of its own type") {
    Epochal.formats.foreach { group =>
      group.specs.foreach { spec =>
        assert(spec.doc.endsWith("."), s"${group.format} ${spec.name}")
        assert(spec.sample.forall(spec.kind.parse(_).nonEmpty), s"${group.format} ${spec.name}")
        assert(spec.defaultText.forall(spec.kind.parse(_).nonEmpty), s"${group.format} ${spec.name}")
      }
    }
  }

  test("no option is declared twice, in any spelling") {
    Epochal.formats.foreach { group =>
      val names = group.specs.map(_.name.toLowerCase(java.util.Locale.ROOT).replaceAll("[^a-z]", ""))
      assert(names.distinct == names, group.format)
    }
  }

  test("the version is that of the release") {
    assert(Epochal.version.matches("\\d+\\.\\d+\\.\\d+.*"))
  }
}
