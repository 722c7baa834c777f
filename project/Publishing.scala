import scala.xml.Node
import scala.xml.transform.{RewriteRule, RuleTransformer}

import com.typesafe.tools.mima.plugin.MimaKeys._
import sbt.Keys._
import sbt._

/** Published artifacts and their POMs. */
object Publishing {

  /** The release to check binary compatibility against; None before 0.1.0. `-Depochal.baseline=…` selects one from the local Maven
    * repository.
    */
  private val Baseline: Option[String] = sys.props.get("epochal.baseline")

  private val Home = "https://epochal.io"

  val build: Seq[Setting[_]] = Seq(
    homepage := Some(url(Home)),
    licenses := Seq(License.Apache2),
    organizationHomepage := Some(url(Home)),
    startYear := Some(2026),
    scmInfo := Some(ScmInfo(url(s"$Home/source"), s"scm:git:$Home/source.git")),
    developers := List(Developer("epochal", "The Epochal Authors", "", url(Home))),
    mimaPreviousArtifacts := Set.empty
  )

  private val local: Seq[Setting[_]] = Seq(
    // Overwrites the previous build.
    publishM2Configuration := publishM2Configuration.value.withOverwrite(true),
    // Exclusions are for builds of the jar alone (Dependencies).
    pomPostProcess := { pom =>
      val rule = new RewriteRule {
        override def transform(node: Node): Seq[Node] = if (node.label == "exclusions") Nil else node
      }
      new RuleTransformer(rule)(pom)
    }
  )

  /** Settings of a module that connectors compile against: a jar of its own classes, with its dependencies in the POM. */
  val library: Seq[Setting[_]] = local ++ Seq(
    mimaPreviousArtifacts := Baseline.map(organization.value %% moduleName.value % _).toSet,
    mimaBinaryIssueFilters += StableApi.filter(StableApi.types((LocalRootProject / baseDirectory).value / "scala")),
    resolvers ++= Baseline.map(_ => Resolver.mavenLocal).toSeq,
    Compile / packageBin / mappings ++=
      Seq("LICENSE", "NOTICE").map(name => (LocalRootProject / baseDirectory).value / name -> s"META-INF/$name")
  )

  /** Publishes another project's assembly under this project's name, with no dependencies except Spark's in the POM. */
  def assembled(project: Project, assembly: TaskKey[File], bom: TaskKey[File]): Seq[Setting[_]] = local ++ Seq(
    autoScalaLibrary := false,
    Compile / packageBin := (project / assembly).value,
    Compile / packageSrc := (project / Compile / packageSrc).value,
    Compile / packageDoc := (project / Compile / packageDoc).value
  ) ++ addArtifact(
    Def.setting(Artifact(moduleName.value, "json", "json", "cyclonedx")),
    Def.task((project / bom).value))
}
