import sbt._

/** Runs suites in several JVMs in parallel: most wait more than they compute. */
object TestGroups {

  /** Maximum concurrent JVMs over all projects. */
  val Parallel = 3

  /** Whether this is `make test`, which excludes tests that are tagged slow. */
  val small: Boolean = sys.env.get("EPOCHAL_TESTS").contains("small")

  private val DefaultSeconds = 3.0

  /** Groups of suites: each has its own working directory, for files that Spark leaves, and there is a group for each locale.
    *
    * Deterministic: depends only on the suites' names and on `times`, lines with a suite's name and its seconds. The longest suite is
    * assigned first, each to the group with the least total time.
    */
  def of(
      tests: Seq[TestDefinition],
      locales: Seq[Locales.Options],
      options: ForkOptions,
      work: File,
      times: File): Seq[Tests.Group] = {
    val seconds =
      IO.readLines(times).map(_.split(' ')).collect { case Array(name, took) => name -> took.toDouble }.toMap
    def weight(test: TestDefinition): Double = seconds.getOrElse(test.name.split('.').last, DefaultSeconds)
    val groups =
      tests
        .sortBy(test => (-weight(test), test.name))
        .foldLeft(Vector.fill(locales.size)(Vector.empty[TestDefinition])) { (groups, test) =>
          val least = groups.indices.minBy(n => groups(n).map(weight).sum)
          groups.updated(least, groups(least) :+ test)
        }
    groups.zip(locales).zipWithIndex.map { case ((group, locale), n) =>
      val directory = work / s"group-$n"
      IO.createDirectory(directory)
      val forked = options
        .withWorkingDirectory(directory)
        .withRunJVMOptions(options.runJVMOptions ++ locale)
      Tests.Group(s"group-$n", group, Tests.SubProcess(forked))
    }
  }
}

/** Locales of the test JVMs. They differ, because results must not depend on the machine's settings. */
object Locales {
  type Options = Seq[String]

  val Machine: Options = Nil

  /** Has a dotted and a dotless `i` in both cases. */
  val Turkish: Options = Seq("-Duser.language=tr", "-Duser.country=TR")

  /** Has its own digits. */
  val Persian: Options = Seq("-Duser.language=fa", "-Duser.country=IR")

  val all: Seq[Options] = Seq(Machine, Turkish, Persian)
}
