package io.epochal.kit.access

import java.io.IOException
import java.net.URI
import java.nio.file.{InvalidPathException, Path, Paths}

import scala.util.Try

import io.epochal.core.error.{Conditions, EpochalException, Reference}
import io.epochal.kit.spark.DriverConf

/** What options may make this driver read or run (S16).
  *
  * On a driver of one user everything: the user who sets the options can read the file anyway. On a driver that serves
  * several, only what its owner lists in the configuration that the driver is started with ([[DriverConf]]). A list that is
  * set counts on any driver.
  *
  * What is refused is refused in the same words whether it exists or not.
  *
  * @param setting
  *   of the driver's owner
  * @param server
  *   what makes others' statements run here, if anything does
  */
final class DriverAccess(setting: String => Option[String], server: => Option[String]) {
  import DriverAccess._

  /** Why options are restricted here; None where they are not. */
  private lazy val shared: Option[String] = setting(SharedDriver).map(_.trim) match {
    case Some(text) if text.equalsIgnoreCase("false") => None
    case Some(_)                                      => Some(s"$SharedDriver is set")
    case None                                         => server.map(name => s"it serves $name")
  }

  def isShared: Boolean = shared.isDefined

  /** @return
    *   the file to open in place of `path`: where files are restricted it has no symbolic links
    * @throws InvalidPathException
    *   when it is no path
    */
  def file(option: String, path: String): Path = {
    val asked = Paths.get(path)
    restriction(AllowedFiles).fold(asked) { reason =>
      val real = realPath(asked)
      val listed = entries(AllowedFiles).filterNot(isUri).map(entry => realPath(Paths.get(local(entry))))
      if (listed.exists(real.startsWith(_))) real
      else throw refused(Reference.option(option), reason, AllowedFiles, parent(path))
    }
  }

  /** A directory to write into, on any file system: a path, or a URI. */
  def directory(option: String, location: String): Unit =
    restriction(AllowedFiles).foreach { reason =>
      if (isUri(location)) {
        val asked = normal(location)
        val listed = entries(AllowedFiles).filter(isUri).flatMap(normal)
        if (!asked.exists(uri => listed.exists(above(_, uri))))
          throw refused(Reference.option(option), reason, AllowedFiles, location)
      } else
        try file(option, local(location)): Unit
        catch {
          case _: InvalidPathException => throw refused(Reference.option(option), reason, AllowedFiles, location)
        }
    }

  def environment(option: String, name: String): Unit = listed(Reference.option(option), name, AllowedEnvironment)

  /** A class, by its full name.
    *
    * @param option
    *   as a reference
    */
  def classNamed(option: String, name: String): Unit = listed(option, name, AllowedClasses)

  /** Whether the owner has allowed a driver property, for any value or for this one. */
  def allowsProperty(name: String, value: String): Boolean =
    entries(AllowedProperties).exists(entry => entry.equalsIgnoreCase(name) || entry.equalsIgnoreCase(s"$name=$value"))

  /** What a property is refused with.
    *
    * @param danger
    *   what it can do, where it is refused on every driver
    */
  def refusedProperty(name: String, danger: Option[String]): EpochalException =
    refused(name, danger.orElse(shared).getOrElse(""), AllowedProperties, name)

  /** Where classes that options name are looked for. What a session has brought with it is not looked at where several
    * share the driver.
    */
  def loaders: Seq[ClassLoader] =
    (if (isShared) Seq(getClass.getClassLoader)
     else Seq(getClass.getClassLoader, Thread.currentThread.getContextClassLoader)).filter(_ != null).distinct

  private def listed(option: String, name: String, list: String): Unit =
    restriction(list).foreach { reason =>
      val allowed =
        entries(list).exists(entry => if (entry.endsWith("*")) name.startsWith(entry.dropRight(1)) else name == entry)
      if (!allowed) throw refused(option, reason, list, name)
    }

  private def restriction(list: String): Option[String] = shared.orElse(setting(list).map(_ => s"$list is set"))

  private def entries(list: String): Seq[String] =
    setting(list).toSeq.flatMap(_.split(',')).map(_.trim).filter(_.nonEmpty)
}

object DriverAccess {
  val SharedDriver = "spark.epochal.sharedDriver"
  val AllowedFiles = "spark.epochal.allowedFiles"
  val AllowedEnvironment = "spark.epochal.allowedEnvironment"
  val AllowedClasses = "spark.epochal.allowedClasses"
  val AllowedProperties = "spark.epochal.allowedDriverProperties"

  /** Of the driver that this is. */
  def current: DriverAccess = new DriverAccess(DriverConf.get, DriverConf.server)

  /** What `body` finds allowed here, or OPTION_NOT_ALLOWED. */
  def checked[A](body: DriverAccess => A): Either[EpochalException, A] =
    try Right(body(current))
    catch { case refused: EpochalException => Left(refused) }

  private def refused(option: String, reason: String, list: String, entry: String): EpochalException =
    Conditions.OptionNotAllowed("option" -> option, "reason" -> reason, "setting" -> list, "entry" -> entry)

  private def parent(path: String): String = Option(Paths.get(path).getParent).fold(path)(_.toString)

  /** Without symbolic links, also where the end of the path does not exist: then of the part that does. */
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

  private def above(allowed: URI, asked: URI): Boolean = {
    val directory = allowed.getPath.stripSuffix("/")
    allowed.getScheme.equalsIgnoreCase(asked.getScheme) && allowed.getAuthority == asked.getAuthority &&
    (asked.getPath == directory || asked.getPath.startsWith(s"$directory/"))
  }
}
