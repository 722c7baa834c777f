import sbt._

/** A project's suites in several JVMs side by side: most suites wait more than they compute. */
object TestGroups {

  /** JVMs at the same time, over all projects: suites wait for servers and databases about as long as they compute. */
  val Parallel = 3

  /** For `make test`, without what is tagged slow. */
  val small: Boolean = sys.env.get("EPOCHAL_TESTS").contains("small")

  /** JVMs of one project. */
  private val Most = if (small) 2 else Int.MaxValue

  private val DefaultSeconds = 3.0

  /** The groups, each with a working directory of its own, that Spark may litter, and a group for each locale.
    *
    * Deterministic: depends only on the suites' names and on `times`, lines of a suite's name and its seconds. The longest
    * suite comes first, into the group that has least to do.
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
        .foldLeft(Vector.fill(locales.size.min(Most))(Vector.empty[TestDefinition])) { (groups, test) =>
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

/** Nothing that a suite finds may depend on the machine's settings: the JVMs of tests have different ones. */
object Locales {
  type Options = Seq[String]

  val Machine: Options = Nil

  /** Has an `i` of its own in upper and lower case. */
  val Turkish: Options = Seq("-Duser.language=tr", "-Duser.country=TR")

  /** Has digits of its own. */
  val Persian: Options = Seq("-Duser.language=fa", "-Duser.country=IR")

  val all: Seq[Options] = Seq(Machine, Turkish, Persian)
}
