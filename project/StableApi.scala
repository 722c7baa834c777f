import com.typesafe.tools.mima.core.Problem
import sbt._

/** Which part of the libraries keeps compatible: the types that their sources mark with `@Stable`, with what they hold. */
object StableApi {
  private val Package = """(?m)^package ([\w.]+)""".r
  private val Marked =
    """(?m)^@Stable\s+(?:@\S+\s+)*(?:(?:public|final|sealed|abstract|case)\s+)*(?:class|trait|object|interface|record)\s+(\w+)""".r

  /** Their names, of all sources below a directory. */
  def types(sources: File): Set[String] = (sources ** ("*.scala" | "*.java")).get().toSet.flatMap { (file: File) =>
    val text = IO.read(file)
    Package.findFirstMatchIn(text).toSeq.flatMap { in =>
      Marked.findAllMatchIn(text).map(found => s"${in.group(1)}.${found.group(1)}")
    }
  }

  /** Keeps what is found of them, and drops the rest. */
  def filter(types: Set[String]): Problem => Boolean =
    _.matchName.forall(name => types.exists(of => name == of || name.startsWith(of) && ".$#".contains(name(of.length))))
}
