import sbt.Keys._
import sbt._
import sbtassembly.Assembly.{Library, Project}
import sbtassembly.AssemblyPlugin.autoImport._
import sbtassembly.{CustomMergeStrategy, MergeStrategy}

/** The one jar: our classes, shaded third-party code, and the JDBC drivers under their own names. */
object Packaging {

  private val libraryJars = taskKey[Seq[Attributed[File]]]("the libraries in the jar")
  val libraries = taskKey[File]("the libraries in the jar, as group:artifact:version lines")
  val bom = taskKey[File]("contents of the jar, as CycloneDX JSON")

  /** @param others
    *   other projects whose classes are in the jar
    */
  def settings(others: ProjectReference*): Seq[Setting[_]] = Seq(
    libraryJars := Classpaths
      .managedJars(Runtime, classpathTypes.value, update.value)
      .filterNot(jar => providedBySpark(jar.data.getName)),
    libraries := {
      val found = libraryJars.value.flatMap(_.get(moduleID.key))
      val to = (LocalRootProject / baseDirectory).value / "build" / "libraries.txt"
      IO.writeLines(to, found.map(m => s"${m.organization}:${m.name}:${m.revision}").distinct.sorted)
      to
    },
    bom := {
      val to = (Compile / resourceManaged).value / "META-INF" / "sbom" / "epochal-spark.cdx.json"
      val product = organization.value % s"${name.value}_${scalaBinaryVersion.value}" % version.value
      IO.write(to, Sbom.of(product, libraryJars.value))
      to
    },
    assembly / assemblyOutputPath :=
      (LocalRootProject / baseDirectory).value / "dist" / s"epochal-spark_2.13-${version.value}.jar",
    assembly / test := {},
    assemblyPackageScala / assembleArtifact := false,
    assembly / assemblyShadeRules := shaded.map(name => ShadeRule.rename(s"$name.**" -> "io.epochal.shaded.@0").inAll),
    assembly / assemblyExcludedJars := (assembly / fullClasspath).value.filter(entry =>
      providedBySpark(entry.data.getName)),
    assembly / assemblyMergeStrategy := strategy,
    Compile / resourceGenerators += Def.task {
      val here = (LocalRootProject / baseDirectory).value
      val to = (Compile / resourceManaged).value
      val ours = Seq("LICENSE" -> "META-INF/LICENSE", "NOTICE" -> "META-INF/NOTICE")
      (ours ++ withoutLicense.map(library => "LICENSE" -> s"META-INF/licenses/$library/LICENSE"))
        .map { case (name, path) =>
          IO.copyFile(here / name, to / path, preserveLastModified = true)
          to / path
        }
    }.taskValue,
    Compile / resourceGenerators += bom.map(Seq(_)).taskValue,
    // Sources and documentation cover all our classes in the jar.
    Compile / packageSrc / mappings := {
      val all = (Compile / packageSrc / mappings).value ++ (packageSrc / mappings).all(compiled(others)).value.flatten
      // Several projects have lines for the same file. The jar merges them.
      all.filterNot { case (_, path) => path.startsWith("META-INF/services") }
    },
    Compile / doc / sources ++= sources.all(compiled(others)).value.flatten
  )

  private def compiled(projects: Seq[ProjectReference]): ScopeFilter =
    ScopeFilter(inProjects(projects: _*), inConfigurations(Compile))

  // JDBC drivers are not shaded: DriverManager and users' `driver` options refer to them by name.
  private val shaded = Seq("dev.failsafe", "org.apache.hc", "com.zaxxer.hikari", "org.eclipse.jetty")

  // Their jars contain no licence text; the licence is the same as ours.
  private val withoutLicense = Seq("failsafe", "HikariCP", "jetty-http", "jetty-io", "jetty-server", "jetty-util")

  /** Scala and slf4j are part of Spark; checker-qual contains annotations that are not used at run time. */
  private def providedBySpark(jar: String): Boolean =
    Seq("scala-library-", "slf4j-api-", "checker-qual-").exists(jar.startsWith)

  // SQLite has 24 native libraries (26 MB unpacked). These eight are for the platforms that Spark 4 runs on.
  private val nativeLibraries =
    for (os <- Set("Linux", "Linux-Musl", "Mac", "Windows"); cpu <- Set("x86_64", "aarch64")) yield s"$os/$cpu"

  private val strategy: String => MergeStrategy = path =>
    path.split('/').toList match {
      case "META-INF" :: "services" :: _                                    => MergeStrategy.filterDistinctLines
      case "META-INF" :: ("LICENSE" | "NOTICE") :: Nil                      => ofEachLibrary
      case "META-INF" :: "licenses" :: _                                    => MergeStrategy.first
      case "META-INF" :: "maven" :: rest if rest.last.startsWith("LICENSE") => ofEachLibrary
      case "META-INF" :: ("native-image" | "sbom") :: _                     => MergeStrategy.first
      case "META-INF" :: _                                                  => MergeStrategy.discard
      case "org" :: "sqlite" :: "native" :: os :: cpu :: _ if !nativeLibraries(s"$os/$cpu") => MergeStrategy.discard
      case parts if parts.last == "module-info.class" || unused(path)                       => MergeStrategy.discard
      case _                                                                                => MergeStrategy.deduplicate
    }

  /** HikariCP's bridges to Hibernate and to metrics libraries, and its proxy generator: dead code without those. Jetty's images for
    * directory listings. Translations of PostgreSQL's driver, so that its messages match our English in every locale.
    */
  private def unused(path: String): Boolean =
    path.startsWith("org/postgresql/translation/") ||
      Seq("favicon.ico", "jetty-dir.css").exists(name => path.endsWith(s"org/eclipse/jetty/server/$name")) ||
      Seq(
        "hibernate/",
        "metrics/dropwizard/",
        "metrics/micrometer/",
        "metrics/prometheus/",
        "util/JavassistProxyFactory")
        .exists(part => path.contains(s"com/zaxxer/hikari/$part"))

  /** Keeps our file; moves a library's to `META-INF/licenses/<library>/`. */
  private val ofEachLibrary: MergeStrategy = CustomMergeStrategy.rename {
    case project: Project => project.target
    case library: Library =>
      s"META-INF/licenses/${library.moduleCoord.name}/${library.target.split('/').last}"
  }
}
