package io.epochal.kit.access

import java.io.IOException
import java.net.URI
import java.nio.file.{InvalidPathException, Path, Paths}
import java.util.{ServiceConfigurationError, ServiceLoader}

import scala.util.Try

import io.epochal.core.error.{Conditions, EpochalException, Reference}
import io.epochal.kit.spark.DriverConf

/** Decides which files, classes and properties options may use on this driver.
  *
  * A driver with one user allows everything: that user can read the files anyway. A driver with several users allows only what
  * its owner lists in the configuration that it is started with ([[DriverConf]]). A list that is set applies on any driver.
  *
  * A refusal has the same text whether the file or class exists or not.
  *
  * @param setting
  *   of the driver's owner
  * @param server
  *   the server that runs other users' statements here, if any
  */
final class DriverAccess(setting: String => Option[String], server: => Option[String]) {
  import DriverAccess._

  /** Why options are restricted on this driver; None if they are not. */
  private lazy val sharedDriver: Option[String] = setting(SharedDriver).map(_.trim) match {
    case Some(text) if text.equalsIgnoreCase("false") => None
    case Some(_)                                      => Some(s"$SharedDriver is set")
    case None                                         => server.map(name => s"it serves $name")
  }

  def isShared: Boolean = sharedDriver.isDefined

  /** Checks a file.
    *
    * @return
    *   the file to open in place of `path`: if files are restricted, it has no symbolic links
    * @throws InvalidPathException
    *   if `path` is not a path
    */
  def file(option: String, path: String): Path = {
    val target = Paths.get(path)
    restriction(AllowedFiles).fold(target) { reason =>
      val real = realPath(target)
      val allowedPaths = entries(AllowedFiles).filterNot(isUri).map(entry => realPath(Paths.get(local(entry))))
      if (allowedPaths.exists(real.startsWith(_))) real
      else throw refusal(Reference.option(option), reason, AllowedFiles, parent(path))
    }
  }

  /** Checks a directory for writing, on any file system: a path or a URI. */
  def directory(option: String, location: String): Unit =
    restriction(AllowedFiles).foreach { reason =>
      if (isUri(location)) {
        val target = normal(location)
        val allowedUris = entries(AllowedFiles).filter(isUri).flatMap(normal)
        if (!target.exists(uri => allowedUris.exists(above(_, uri))))
          throw refusal(Reference.option(option), reason, AllowedFiles, location)
      } else
        try file(option, local(location)): Unit
        catch {
          case _: InvalidPathException => throw refusal(Reference.option(option), reason, AllowedFiles, location)
        }
    }

  def environment(option: String, name: String): Unit = restrict(Reference.option(option), name, AllowedEnvironment)

  /** Checks a class, by its full name.
    *
    * @param option
    *   as a reference
    */
  def classNamed(option: String, name: String): Unit = restrict(option, name, AllowedClasses)

  /** Whether the owner has allowed a driver property, for any value or for this one. */
  def allowsProperty(name: String, value: String): Boolean =
    entries(AllowedProperties).exists(entry => entry.equalsIgnoreCase(name) || entry.equalsIgnoreCase(s"$name=$value"))

  /** The error for a refused property.
    *
    * @param danger
    *   what the property can do, if it is refused on every driver
    */
  def refusedProperty(name: String, danger: Option[String]): EpochalException =
    refusal(name, danger.orElse(sharedDriver).getOrElse(""), AllowedProperties, name)

  /** The class loaders for classes that options name. A shared driver excludes classes that a session has brought. */
  def loaders: Seq[ClassLoader] =
    (if (isShared) Seq(getClass.getClassLoader)
     else Seq(getClass.getClassLoader, Thread.currentThread.getContextClassLoader)).filter(_ != null).distinct

  /** The services that jars on the class path declare; Left: why one cannot be loaded. The others can be used. */
  def services[A](kind: Class[A]): Seq[Either[String, A]] = loaders.flatMap { loader =>
    val services = ServiceLoader.load(kind, loader).iterator
    def next() =
      try Option.when(services.hasNext)(Right(services.next()))
      catch {
        case e @ (_: ServiceConfigurationError | _: LinkageError) =>
          Some(Left((e +: Option(e.getCause).toSeq).mkString(": ")))
      }
    // The loader repeats the same error for ever if it cannot read the class path.
    Iterator.continually(next()).takeWhile(_.nonEmpty).flatten.take(1000)
  }

  private def restrict(option: String, name: String, list: String): Unit =
    restriction(list).foreach { reason =>
      val matches =
        entries(list).exists(entry => if (entry.endsWith("*")) name.startsWith(entry.dropRight(1)) else name == entry)
      if (!matches) throw refusal(option, reason, list, name)
    }

  private def restriction(list: String): Option[String] = sharedDriver.orElse(setting(list).map(_ => s"$list is set"))

  private def entries(list: String): Seq[String] =
    setting(list).toSeq.flatMap(_.split(',')).map(_.trim).filter(_.nonEmpty)
}

object DriverAccess {
  val SharedDriver = "spark.epochal.sharedDriver"
  val AllowedFiles = "spark.epochal.allowedFiles"
  val AllowedEnvironment = "spark.epochal.allowedEnvironment"
  val AllowedClasses = "spark.epochal.allowedClasses"
  val AllowedProperties = "spark.epochal.allowedDriverProperties"

  def current: DriverAccess = new DriverAccess(DriverConf.get, DriverConf.server)

  /** The result of `body` under the current rules, or OPTION_NOT_ALLOWED. */
  def checked[A](body: DriverAccess => A): Either[EpochalException, A] =
    try Right(body(current))
    catch { case error: EpochalException => Left(error) }

  private def refusal(option: String, reason: String, list: String, entry: String): EpochalException =
    Conditions.OptionNotAllowed("option" -> option, "reason" -> reason, "setting" -> list, "entry" -> entry)

  private def parent(path: String): String = Option(Paths.get(path).getParent).fold(path)(_.toString)

  /** Resolves symbolic links; if the end of the path does not exist, in the part that does. */
  private def realPath(path: Path): Path = {
    val absolute = path.toAbsolutePath
    try absolute.toRealPath()
    catch {
      case _: IOException =>
        Option(absolute.getParent).fold(absolute)(parent => realPath(parent).resolve(absolute.getFileName).normalize)
    }
  }

  private def local(location: String): String =
    if (location.startsWith("file:")) location.stripPrefix("file:").replaceFirst("^/+", "/") else location

  private def isUri(location: String): Boolean =
    location.matches("(?s)[A-Za-z][A-Za-z0-9+.-]+:.*") && !location.startsWith("file:")

  private def normal(location: String): Option[URI] =
    Try(new URI(location).normalize).toOption.filter(uri => uri.getPath != null && !uri.getPath.contains(".."))

  private def above(root: URI, target: URI): Boolean = {
    val directory = root.getPath.stripSuffix("/")
    root.getScheme.equalsIgnoreCase(target.getScheme) && root.getAuthority == target.getAuthority &&
    (target.getPath == directory || target.getPath.startsWith(s"$directory/"))
  }
}
