package io.epochal.formats

import com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage
import com.tngtech.archunit.core.domain.JavaClasses
import com.tngtech.archunit.core.importer.{ClassFileImporter, ImportOption}
import com.tngtech.archunit.lang.ArchRule
import com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses
import com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices
import org.scalatest.funsuite.AnyFunSuite

/** The walls between the rooms that `scala/README.md` draws. */
final class RoomsSuite extends AnyFunSuite {
  import RoomsSuite._

  rule("no two packages use each other, directly or by way of others")(
    slices().matching("io.epochal.(**)").should().beFreeOfCycles())

  rule("no connector sees another")(
    slices().matching("io.epochal.(*)..").should().notDependOnEachOther()
      .ignoreDependency(resideInAnyPackage(formats: _*), resideInAnyPackage("io.epochal.."))
      .ignoreDependency(resideInAnyPackage("io.epochal.."), resideInAnyPackage(ground: _*)))

  rule("core knows no Spark")(
    noClasses().that().resideInAPackage("io.epochal.core..").should().dependOnClassesThat()
      .resideInAPackage("org.apache.spark.."))

  rule("the kit knows no connector")(
    noClasses().that().resideInAnyPackage("io.epochal.kit..", "io.epochal.core..").should().dependOnClassesThat()
      .resideInAnyPackage(connectors ++ formats: _*))

  private def rule(claim: String)(rule: ArchRule): Unit = test(claim)(rule.check(classes))
}

private object RoomsSuite {
  val ground: Seq[String] = Seq("io.epochal.core..", "io.epochal.kit..")
  val connectors: Seq[String] = Seq("io.epochal.random..", "io.epochal.rest..", "io.epochal.jdbc..")
  val formats: Seq[String] = Seq("io.epochal.formats..")

  lazy val classes: JavaClasses =
    new ClassFileImporter()
      .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
      .withImportOption(place => !place.contains("test-classes") && !place.contains("testkit"))
      .importPackages("io.epochal")
}
