import com.typesafe.tools.mima.core.Problem
import sbt._

/** The API that stays compatible: types marked with `@Stable` in the sources, with their members. */
object StableApi {
  private val Package = """(?m)^package ([\w.]+)""".r
  private val Marked =
    """(?m)^@Stable\s+(?:@\S+\s+)*(?:(?:public|final|sealed|abstract|case)\s+)*(?:class|trait|object|interface|record)\s+(\w+)""".r

  private val Annotated = """(?m)^@(?:Stable|Experimental)\b""".r

  /** Names of the stable types in all sources below a directory. */
  def types(sources: File): Set[String] = (sources ** ("*.scala" | "*.java")).get().toSet.flatMap { (file: File) =>
    val text = IO.read(file)
    Package.findFirstMatchIn(text).toSeq.flatMap { in =>
      Marked.findAllMatchIn(text).map(found => s"${in.group(1)}.${found.group(1)}")
    }
  }

  /** The files of the types that authors of connectors use, stable or experimental. */
  def sources(below: File): Seq[File] =
    (below ** ("*.scala" | "*.java")).get().filter { file =>
      file.getPath.contains("/src/main/") && Annotated.findFirstIn(IO.read(file)).nonEmpty
    }

  /** Keeps MiMa's problems of stable types and drops the rest. */
  def filter(types: Set[String]): Problem => Boolean =
    _.matchName.forall(name => types.exists(of => name == of || name.startsWith(of) && ".$#".contains(name(of.length))))
}
