"""Minimal projects that use Epochal's artifacts, and the tools that build and run them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyspark

from support.places import ROOT, VERSION

REPOSITORY = ROOT / "build" / "m2"
SCALA = "2.13"
SECONDS = 600


def setting(file: str, before: str) -> str:
    """The text after a prefix in a file, up to the end of the line or the closing quotation mark."""
    text = (ROOT / file).read_text(encoding="utf-8").partition(before)[2]
    return text.splitlines()[0].strip().removeprefix('"').removesuffix('"')


SBT_VERSION = setting("project/build.properties", "sbt.version=")

MAVEN = f"""\
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>example</groupId><artifactId>signer</artifactId><version>1</version>
  <properties>
    <maven.compiler.source>17</maven.compiler.source>
    <maven.compiler.target>17</maven.compiler.target>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <dependencies><dependency>
    <groupId>io.epochal</groupId><artifactId>epochal-spark_{SCALA}</artifactId><version>{VERSION}</version><scope>provided</scope>
  </dependency></dependencies>
</project>
"""

SIGNER = """\
import io.epochal.kit.*;
import java.util.Map;

public final class Signer implements RequestSigner {
  public void configure(Map<String, String> settings) {}
  public Map<String, String> sign(UnsignedRequest request) { return Map.of("X-Signed", request.method()); }
  public static void main(String[] arguments) {
    var request = new UnsignedRequest("GET", java.net.URI.create("http://127.0.0.1/"), Map.of(), new byte[0]);
    System.out.println(new Signer().sign(request));
  }
}
"""

SBT = f"""\
scalaVersion := "{setting("project/Dependencies.scala", "val scala = ")}"
resolvers += Resolver.mavenLocal
libraryDependencies ++= Seq(
  "io.epochal" %% "epochal-kit" % "{VERSION}",
  "org.apache.spark" %% "spark-sql" % "{setting("project/Dependencies.scala", "val spark = ")}" % Provided,
  "io.epochal" %% "epochal-testkit" % "{VERSION}" % Test
)
"""

CONNECTOR = """\
import java.util.Map
import com.fasterxml.jackson.databind.node.ObjectNode
import io.epochal.core.offset.OffsetFormat
import io.epochal.core.version.Version
import io.epochal.kit.{RequestSigner, UnsignedRequest}

object Rows extends OffsetFormat[Long]("example", 1) {
  override protected def write(position: Long, fields: ObjectNode): Unit = { fields.put("row", position); () }
  override protected def read(version: Int, fields: ObjectNode): Long = fields.get("row").asLong
}

class Agent extends RequestSigner {
  override def configure(settings: Map[String, String]): Unit = ()
  override def sign(request: UnsignedRequest): Map[String, String] = Map.of("User-Agent", Version.text)
}
"""

SUITE = f"""\
import java.time.Duration
import io.epochal.core.error.Conditions
import io.epochal.core.retry.{{Retrier, RetrySettings, Verdict}}
import io.epochal.testkit.Refusals
import org.scalatest.funsuite.AnyFunSuite

class ConnectorSuite extends AnyFunSuite with Refusals {{
  test("Jackson is there") {{
    assert(Rows.toJson("here", 7) == \"\"\"{{"v":1,"format":"example","source":"here","row":7}}\"\"\")
  }}
  test("the kit for tests knows the core's errors") {{
    refused(Conditions.OffsetInvalid)(Rows.fromJson("here", "[]").fold(throw _, identity))
  }}
  test("failsafe is there") {{
    val none = Duration.ZERO
    val retrier = new Retrier(RetrySettings(3, none, none, Duration.ofMinutes(1)), _ => Verdict.Retry)
    assert(retrier.run(failures => if (failures < 2) sys.error("again") else failures) == 2)
  }}
  test("the version is known") {{
    assert(new Agent().sign(null).get("User-Agent") == "{VERSION}")
  }}
}}
"""

QUERY = """\
import sys
from pyspark.sql import SparkSession

database, checkpoint = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()
rows = spark.readStream.format("epochal-random").options(rowsPerBatch=100, maxRows=300).load()
sink = rows.writeStream.format("epochal-jdbc").options(url=database, dbtable="strings", createTable=True)
sink.option("checkpointLocation", checkpoint).trigger(availableNow=True).start().awaitTermination()
"""

# Only this repository is used, neither the user's nor a public one.
ONLY_OURS = f"""\
<ivysettings>
  <settings defaultResolver="published"/>
  <resolvers><ibiblio name="published" m2compatible="true" root="{REPOSITORY.as_uri()}"/></resolvers>
</ivysettings>
"""


def foreign_sources() -> list[str]:
    """Texts of the sources in ``tests/kit``, connectors of another team."""
    kinds = {".java", ".scala", ".sbt", ".xml"}
    files = sorted(path for path in (ROOT / "tests" / "kit").rglob("*") if path.suffix in kinds)
    return [path.read_text(encoding="utf-8") for path in files]


def write(directory: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text, encoding="utf-8")
    return directory


def run(
    command: list[str | Path], directory: Path, variables: dict[str, str] | None = None, seconds: int = SECONDS
) -> str:
    """Standard output of a command, which must succeed."""
    done = subprocess.run(
        command,
        cwd=directory,
        env=os.environ | (variables or {}),
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def java() -> str:
    home = os.environ.get("JAVA_HOME")
    return str(Path(home, "bin", "java")) if home else "java"


def sbt() -> list[str | Path]:
    """The command that built the jar (``scripts/sbt``), for another directory."""
    options = ["-Dsbt.server.autostart=false", "-Dsbt.supershell=false", f"-Dmaven.repo.local={REPOSITORY}"]
    if shutil.which("sbt"):
        return ["sbt", *options]
    launcher = ROOT / "build" / "sbt" / f"sbt-launch-{SBT_VERSION}.jar"
    return [java(), "-Xmx1g", "-Xss8m", *options, "-jar", launcher]


def spark_submit(*arguments: str | Path) -> list[str | Path]:
    quick = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    settings = ["spark.ui.enabled=false", f"spark.pyspark.python={sys.executable}"]
    confs = [part for text in settings for part in ("--conf", text)]
    return [submit, "--master", "local[2]", "--driver-java-options", quick, *confs, *arguments]
