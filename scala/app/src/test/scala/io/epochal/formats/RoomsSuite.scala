package io.epochal.formats

import com.tngtech.archunit.base.DescribedPredicate.{describe, not}
import com.tngtech.archunit.core.domain.JavaClass.Predicates.{resideInAPackage, resideInAnyPackage}
import com.tngtech.archunit.core.domain.{JavaClass, JavaClasses}
import com.tngtech.archunit.core.importer.{ClassFileImporter, ImportOption}
import com.tngtech.archunit.lang.ArchRule
import com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses
import com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tags.Slow

/** Package dependencies that `scala/README.md` allows. The compiler checks those between projects. */
@Slow
final class RoomsSuite extends AnyFunSuite {
  import RoomsSuite._

  rule("packages have no cyclic dependencies")(slices().matching("io.epochal.(**)").should().beFreeOfCycles())

  rule("core does not depend on Spark")(
    noClasses()
      .that()
      .resideInAPackage("io.epochal.core..")
      .should()
      .dependOnClassesThat()
      .resideInAPackage("org.apache.spark.."))

  rule("of the kit, only kit.database uses JDBC")(
    noClasses()
      .that(resideInAPackage("io.epochal.kit..").and(not(resideInAPackage("io.epochal.kit.database.."))))
      .should()
      .dependOnClassesThat()
      .resideInAnyPackage("java.sql..", "javax.sql.."))

  rule("only kit.spark uses Spark's internal API")(
    noClasses()
      .that(resideInAPackage("io.epochal..").and(not(resideInAPackage("io.epochal.kit.spark.."))))
      .should()
      .dependOnClassesThat(resideInAnyPackage(spark: _*).and(not(describe("a row's", isRowContract(_))))))

  private def rule(claim: String)(rule: ArchRule): Unit = test(claim)(rule.check(classes))
}

private object RoomsSuite {

  /** Spark's internal packages, outside the connector API. */
  val spark: Seq[String] =
    Seq("catalyst", "execution", "internal", "classic").map(room =>
      s"org.apache.spark.sql.$room..") :+ "org.apache.spark.unsafe.."

  /** Types of rows and values that every connector may use. */
  private val rowContract = Set(
    "org.apache.spark.sql.catalyst.InternalRow",
    "org.apache.spark.sql.catalyst.util.ArrayData",
    "org.apache.spark.sql.catalyst.util.MapData")

  def isRowContract(found: JavaClass): Boolean = {
    val one = found.getBaseComponentType
    rowContract(one.getName.stripSuffix("$")) || one.getPackageName == "org.apache.spark.unsafe.types"
  }

  lazy val classes: JavaClasses =
    new ClassFileImporter()
      .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
      .withImportOption(place => !Seq("test-classes", "testkit", "testsupport").exists(place.contains))
      .importPackages("io.epochal")
}
