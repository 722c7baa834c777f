import sbt._

/** A project's suites in several JVMs side by side: most suites wait more than they compute. */
object TestGroups {

  /** JVMs at the same time, over all projects: suites wait for servers and databases about as long as they compute. */
  val Parallel = 3

  /** JVMs of a project with many suites, one for each of the locales. */
  val Groups = 3

  /** Where a suite's results must not depend on the machine's settings, every JVM has others. */
  private val locales = Seq(
    Nil,
    Seq("-Duser.language=tr", "-Duser.country=TR"),
    Seq("-Duser.language=fa", "-Duser.country=IR")
  )

  private val DefaultSeconds = 3.0

  /** The groups, each with a working directory of its own, that Spark may litter, and the locale of its number.
    *
    * Deterministic: depends only on the suites' names and on `times`, lines of a suite's name and its seconds. The longest
    * suite comes first, into the group that has least to do.
    */
  def of(tests: Seq[TestDefinition], count: Int, options: ForkOptions, work: File, times: File): Seq[Tests.Group] = {
    val seconds =
      IO.readLines(times).map(_.split(' ')).collect { case Array(name, took) => name -> took.toDouble }.toMap
    def weight(test: TestDefinition): Double = seconds.getOrElse(test.name.split('.').last, DefaultSeconds)
    val groups =
      tests.sortBy(test => (-weight(test), test.name)).foldLeft(Vector.fill(count)(Vector.empty[TestDefinition])) {
        (groups, test) =>
          val least = groups.indices.minBy(n => groups(n).map(weight).sum)
          groups.updated(least, groups(least) :+ test)
      }
    groups.zipWithIndex.map { case (group, n) =>
      val directory = work / s"group-$n"
      IO.createDirectory(directory)
      val forked = options
        .withWorkingDirectory(directory)
        .withRunJVMOptions(options.runJVMOptions ++ locales(n % locales.size))
      Tests.Group(s"group-$n", group, Tests.SubProcess(forked))
    }
  }
}
