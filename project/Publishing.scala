import com.typesafe.tools.mima.plugin.MimaKeys._
import sbt.Keys._
import sbt._

/** What is published, and what its POMs say. */
object Publishing {

  /** The newest release that this one must stay binary compatible with; there is none before 0.1.0. `-Depochal.baseline=…` names one
    * of the local Maven repository.
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

  /** On this machine a build takes the place of the one before it. */
  private val again = publishM2Configuration := publishM2Configuration.value.withOverwrite(true)

  /** A module that connectors are compiled against: a jar of its own classes, with its dependencies in the POM. */
  val library: Seq[Setting[_]] = Seq(
    again,
    mimaPreviousArtifacts := Baseline.map(organization.value %% moduleName.value % _).toSet,
    mimaBinaryIssueFilters += StableApi.filter(StableApi.types((LocalRootProject / baseDirectory).value / "scala")),
    resolvers ++= Baseline.map(_ => Resolver.mavenLocal).toSeq,
    Compile / packageBin / mappings ++=
      Seq("LICENSE", "NOTICE").map(name => (LocalRootProject / baseDirectory).value / name -> s"META-INF/$name")
  )

  /** The assembly of another project under this one's name: nothing in the POM but what Spark brings. */
  def assembled(project: Project, assembly: TaskKey[File], bom: TaskKey[File]): Seq[Setting[_]] = Seq(
    again,
    autoScalaLibrary := false,
    Compile / packageBin := (project / assembly).value,
    Compile / packageSrc := (project / Compile / packageSrc).value,
    Compile / packageDoc := (project / Compile / packageDoc).value
  ) ++ addArtifact(
    Def.setting(Artifact(moduleName.value, "json", "json", "cyclonedx")),
    Def.task((project / bom).value))
}
