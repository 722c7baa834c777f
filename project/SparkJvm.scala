/** The JVM options that Spark 4.2 passes to its own processes (`org.apache.spark.launcher.JavaModuleOptions`). */
object SparkJvm {
  private val opened = Seq(
    "java.lang",
    "java.lang.invoke",
    "java.lang.reflect",
    "java.io",
    "java.net",
    "java.nio",
    "java.util",
    "java.util.concurrent",
    "java.util.concurrent.atomic",
    "jdk.internal.ref",
    "sun.nio.ch",
    "sun.nio.cs",
    "sun.security.action",
    "sun.util.calendar"
  )

  val options: Seq[String] =
    Seq("-XX:+IgnoreUnrecognizedVMOptions", "--add-modules=jdk.incubator.vector") ++
      opened.map(name => s"--add-opens=java.base/$name=ALL-UNNAMED") ++
      Seq(
        "--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
        "-Dio.netty.tryReflectionSetAccessible=true",
        "-Dio.netty.allocator.type=pooled",
        "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
        "--sun-misc-unsafe-memory-access=allow",
        "--enable-native-access=ALL-UNNAMED"
      )

  /** For JVMs that are too short-lived for the optimizing compiler to pay off, and without Spark's ports to other machines. */
  val brief: Seq[String] = Seq(
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-Dspark.ui.enabled=false",
    "-Dspark.driver.bindAddress=127.0.0.1",
    "-Dspark.driver.host=127.0.0.1"
  )

  /** Local files without a process for each, for JVMs with `testsupport` on their class path. */
  val files: Seq[String] = Seq(
    "-Dspark.hadoop.fs.file.impl=io.epochal.support.LocalFiles",
    "-Dspark.hadoop.fs.AbstractFileSystem.file.impl=io.epochal.support.LocalFilesContext"
  )
}
