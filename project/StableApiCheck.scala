import com.typesafe.tools.mima.lib.MiMaLib
import org.objectweb.asm.{ClassReader, ClassVisitor, ClassWriter, MethodVisitor, Opcodes}
import sbt.Keys._
import sbt._

/** Test of the build: MiMa with [[StableApi]] reports the removal of a stable type, and the removal of a kit method or a change of its
  * parameters.
  *
  * "The last release" is the compiled output; "the next one" is a copy without one class file, or with one edited method.
  */
object StableApiCheck {
  private val check = taskKey[Unit]("incompatible changes of stable types are reported, and no others")

  /** Runs the check before the project's tests. */
  val settings: Seq[Setting[_]] = Seq(
    check := {
      val _ = (Compile / compile).value
      val root = (LocalRootProject / baseDirectory).value
      val stable = StableApi.types(root / "scala")
      val classes = Seq((Compile / classDirectory).value, (LocalProject("core") / Compile / classDirectory).value)
      val wrong = listed(root / "docs" / "kit.md", stable) ++
        IO.withTemporaryDirectory(new Types(classes, _, stable).wrong) ++
        IO.withTemporaryDirectory(new Kit((Compile / classDirectory).value, _, stable).wrong)
      if (wrong.nonEmpty) throw new MessageOnlyException(wrong.mkString("StableApiCheck: ", "\n", ""))
      streams.value.log.info(
        s"StableApiCheck: ${stable.size} stable types, ${Changes.size} changes of the kit, as expected")
    },
    Test / test := (Test / test).dependsOn(check).value
  )

  sealed private trait Edit
  private case object Remove extends Edit
  private case object AddParameter extends Edit

  /** @param method
    *   name of the methods, including overloads
    */
  final private case class Change(of: String, method: String, edit: Edit, reported: Boolean)

  private val Changes = Seq(
    Change("Origin", "available", Remove, reported = true),
    Change("StoreTransaction", "put", AddParameter, reported = true),
    Change("Available", "rows", Remove, reported = true),
    Change("SinkConnector", "target", Remove, reported = true),
    Change("SinkConnector", "isTransient", AddParameter, reported = true),
    Change("Settings", "lost", Remove, reported = true),
    Change("SourceConnector", "open", Remove, reported = true),
    Change("Options$", "text", Remove, reported = true),
    Change("TailOrigin", "tailsChanged", Remove, reported = false),
    Change("Receiver", "release", AddParameter, reported = false),
    Change("RecordParser$", "rows", Remove, reported = false),
    Change("OriginSupply", "release", Remove, reported = false)
  )

  private def listed(page: File, stable: Set[String]): Seq[String] = {
    val row = IO.readLines(page).find(_.startsWith("| stable | ")).getOrElse("")
    val names = "`(\\w+)`".r.findAllMatchIn(row).map(_.group(1)).toSet
    val marked = stable.map(_.split('.').last)
    if (names == marked) Nil
    else Seq(s"$page lists ${(names -- marked).toSeq.sorted} too much, and lacks ${(marked -- names).toSeq.sorted}")
  }

  private def reported(stable: Set[String], release: File, next: File): Seq[String] =
    new MiMaLib(Nil).collectProblems(release, next, Nil).filter(StableApi.filter(stable)).flatMap(_.matchName)

  /** Removes each stable type, alone in its release, from the next one: MiMa must not treat it as internal. */
  final private class Types(classes: Seq[File], directory: File, stable: Set[String]) {
    def wrong: Seq[String] = stable.toSeq.sorted.flatMap { name =>
      val path = name.replace('.', '/')
      val (release, next) = (directory / name / "release", directory / name / "next")
      IO.createDirectory(next / path.take(path.lastIndexOf('/')))
      val compiled =
        classes.flatMap(all => Seq(s"$path.class", s"$path$$.class").map(file => all / file -> release / file))
      IO.copy(compiled.filter(_._1.exists))
      if (reported(stable, release, next).contains(name)) Nil else Seq(s"the removal of $name is not reported")
    }
  }

  final private class Kit(classes: File, directory: File, stable: Set[String]) {
    private val connectors = "io/epochal/kit/connector"

    def wrong: Seq[String] = {
      val release = directory / "release"
      IO.copyDirectory(classes / connectors, release / connectors)
      val unchanged = reported(stable, release, release).map(name => s"$name is reported although nothing changed")
      unchanged ++ Changes.flatMap { change =>
        val next = directory / s"${change.of}.${change.method}"
        IO.copyDirectory(classes / connectors, next / connectors)
        val file = next / connectors / s"${change.of}.class"
        IO.write(file, edited(IO.readBytes(file), change))
        val found = reported(stable, release, next)
        val expected =
          if (change.reported) found.nonEmpty && found.forall(_.contains(s".connector.${change.of.stripSuffix("$")}"))
          else found.isEmpty
        if (expected) Nil else Seq(s"$change: reported was ${found.mkString("[", ", ", "]")}")
      }
    }

    private def edited(bytes: Array[Byte], change: Change): Array[Byte] = {
      val writer = new ClassWriter(0)
      var found = false
      new ClassReader(bytes).accept(
        new ClassVisitor(Opcodes.ASM9, writer) {
          override def visitMethod(
              access: Int,
              name: String,
              descriptor: String,
              signature: String,
              exceptions: Array[String]): MethodVisitor =
            if (name != change.method) super.visitMethod(access, name, descriptor, signature, exceptions)
            else {
              found = true
              // Without its body: the method is compared and never runs.
              if (change.edit == AddParameter) {
                super.visitMethod(access, name, descriptor.replace("(", "(I"), null, exceptions)
              }
              null
            }
        },
        0
      )
      require(found, s"$change: there is no such method")
      writer.toByteArray
    }
  }
}
