import scala.collection.JavaConverters._

import sbt.Keys.moduleID
import sbt._
import sbt.io.Using
import sjsonnew.shaded.scalajson.ast.unsafe._
import sjsonnew.support.scalajson.unsafe.PrettyPrinter

/** Software bill of materials of the jar (CycloneDX). Deterministic: equal libraries give equal bytes. */
object Sbom {

  /** SPDX identifier of a licence, and the path of its text in the jar. */
  final private case class Terms(spdx: String, text: String)

  final private case class Component(
      kind: String,
      purl: String,
      group: Option[String],
      name: String,
      version: Option[String],
      terms: Seq[Terms],
      cpe: Option[String] = None,
      inside: Seq[Component] = Nil)

  private val apache = "Apache-2.0" -> "LICENSE"

  /** Licences of all libraries in the jar. A library that is not listed fails the build. */
  private val licences: Map[String, Seq[(String, String)]] = Map(
    "failsafe" -> Seq(apache),
    "HikariCP" -> Seq(apache),
    "httpclient5" -> Seq(apache),
    "httpcore5" -> Seq(apache),
    "httpcore5-h2" -> Seq(apache),
    // Dual-licensed with the Eclipse Public License 2.0.
    "jetty-http" -> Seq(apache),
    "jetty-io" -> Seq(apache),
    "jetty-server" -> Seq(apache),
    "jetty-util" -> Seq(apache),
    "postgresql" -> Seq("BSD-2-Clause" -> "LICENSE"),
    "sqlite-jdbc" -> Seq(apache, "BSD-2-Clause" -> "LICENSE.zentus")
  )

  def of(product: ModuleID, libraries: Seq[Attributed[File]]): String = {
    val root = library(product, Seq(Terms("Apache-2.0", "META-INF/LICENSE")), Nil)
    val components = libraries
      .map { jar =>
        val module = jar.get(moduleID.key).getOrElse(sys.error(s"${jar.data} has no coordinates"))
        val terms =
          licences.getOrElse(module.name, sys.error(s"project/Sbom.scala does not list the licence of ${module.name}"))
        library(
          module,
          terms.map { case (spdx, file) => Terms(spdx, s"META-INF/licenses/${module.name}/$file") },
          insideOf(module, jar.data))
      }
      .sortBy(_.purl)
    PrettyPrinter(
      obj(
        "bomFormat" -> JString("CycloneDX"),
        "specVersion" -> JString("1.6"),
        "version" -> JNumber(1),
        "metadata" -> obj("component" -> json(root)),
        "components" -> array(components.map(json)),
        "dependencies" -> array(
          Seq(obj("ref" -> JString(root.purl), "dependsOn" -> array(components.map(c => JString(c.purl))))))
      )) + "\n"
  }

  private def library(module: ModuleID, terms: Seq[Terms], inside: Seq[Component]): Component = {
    val purl = s"pkg:maven/${module.organization}/${module.name}@${module.revision}"
    Component("library", purl, Some(module.organization), module.name, Some(module.revision), terms, inside = inside)
  }

  private val Copied = "META-INF/licenses/([^/]+)/(.+)-([0-9.]+)/META-INF/LICENSE".r

  /** Libraries that another library embeds in its jar. */
  private def insideOf(module: ModuleID, jar: File): Seq[Component] =
    module.name match {
      case "postgresql" =>
        val paths = Using.jarFile(verify = false)(jar)(_.entries.asScala.map(_.getName).toList)
        paths
          .collect { case path @ Copied(group, name, version) =>
            library(group % name % version, Seq(Terms("BSD-2-Clause", path)), Nil)
          }
          .sortBy(_.purl)
      case "sqlite-jdbc" =>
        val version = module.revision.split('.').take(3).mkString(".")
        val cpe = s"cpe:2.3:a:sqlite:sqlite:$version:*:*:*:*:*:*:*"
        val terms = Seq(Terms("blessing", "META-INF/NOTICE"))
        Seq(Component("library", s"pkg:generic/sqlite@$version", None, "sqlite", Some(version), terms, Some(cpe)))
      case "httpclient5" =>
        val terms = Seq(Terms("MPL-2.0", "org/publicsuffix/list/effective_tld_names.dat"))
        Seq(Component("data", "pkg:generic/public-suffix-list", None, "public-suffix-list", None, terms))
      case _ => Nil
    }

  private def json(component: Component): JObject = {
    import component._
    val texts = Seq(
      Some("type" -> kind),
      Some("bom-ref" -> purl),
      group.map("group" -> _),
      Some("name" -> name),
      version.map("version" -> _),
      cpe.map("cpe" -> _),
      Some("purl" -> purl)
    ).flatten.map { case (field, text) => field -> JString(text) }
    val licenses = terms.map(t => obj("license" -> obj("id" -> JString(t.spdx), "url" -> JString(t.text))))
    val nested = if (inside.isEmpty) Nil else Seq("components" -> array(inside.map(json)))
    obj(texts ++ Seq("licenses" -> array(licenses)) ++ nested: _*)
  }

  private def obj(fields: (String, JValue)*): JObject =
    JObject(fields.map { case (name, value) => JField(name, value) }.toArray)

  private def array(values: Seq[JValue]): JArray = JArray(values.toArray)
}
