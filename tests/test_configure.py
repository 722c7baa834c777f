"""``configure`` on new, running and foreign sessions; each in a separate process, since a process has one JVM."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import epochal
from epochal import _session
from support.places import ROOT, VERSION
from support.scripts import run_script

JAR = f"epochal-spark_2.13-{VERSION}.jar"


@pytest.fixture
def no_jvm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes this process look as if it had not started a JVM."""
    monkeypatch.setattr("pyspark.SparkContext._jvm", None)
    monkeypatch.setattr("pyspark.SparkContext._active_spark_context", None)
    monkeypatch.delenv("PYSPARK_SUBMIT_ARGS", raising=False)


def jars(builder: SparkSession.Builder) -> list[str]:
    return _session.split(builder._options.get("spark.jars"))


OURS = "io.epochal.formats.EpochalExtensions"


def extensions(builder: SparkSession.Builder) -> list[str]:
    return _session.split(builder._options.get("spark.sql.extensions"))


@pytest.mark.usefixtures("no_jvm")
class TestBeforeTheJvmStarts:
    def test_the_jar_is_added_to_the_returned_builder(self) -> None:
        builder = SparkSession.builder
        assert epochal.configure(builder) is builder
        assert jars(builder) == [str(epochal.jar_path())]

    def test_jars_of_the_builder_are_kept(self) -> None:
        builder = epochal.configure(SparkSession.builder.config("spark.jars", "a.jar, b.jar"))
        assert jars(builder) == ["a.jar", "b.jar", str(epochal.jar_path())]

    def test_configuring_twice_adds_the_jar_once(self) -> None:
        builder = epochal.configure(epochal.configure(SparkSession.builder))
        assert jars(builder) == [str(epochal.jar_path())]

    def test_packages_are_kept(self) -> None:
        builder = epochal.configure(SparkSession.builder.config("spark.jars.packages", "org.x:y:1"))
        assert builder._options["spark.jars.packages"] == "org.x:y:1"

    def test_a_jar_from_a_package_is_not_added_again(self) -> None:
        package = f"org.x:y:1,io.epochal:epochal-spark_2.13:{VERSION}"
        assert jars(epochal.configure(SparkSession.builder.config("spark.jars.packages", package))) == []

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            ("spark.jars", "/opt/epochal-spark_2.13-9.9.9.jar"),
            ("spark.jars.packages", "io.epochal:epochal-spark_2.13:9.9.9"),
        ],
    )
    def test_a_jar_of_another_release_is_refused_with_a_hint(self, key: str, value: str) -> None:
        with pytest.raises(epochal.VersionMismatchError, match=r"9\.9\.9.*pip install epochal-9\.9\.9-py3-none"):
            epochal.configure(SparkSession.builder.config(key, value))

    def test_jars_of_the_submit_arguments_are_kept_where_spark_reads_them(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--jars c.jar --driver-memory 1g pyspark-shell")
        builder = epochal.configure(SparkSession.builder)
        assert jars(builder) == ["c.jar", str(epochal.jar_path())]
        assert _session.submit_jars() == ["c.jar", str(epochal.jar_path())]

    def test_jars_of_the_defaults_file_are_kept(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "spark-defaults.conf").write_text("# jars\nspark.master local\nspark.jars   d.jar,e.jar\n")
        monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
        assert jars(epochal.configure(SparkSession.builder)) == ["d.jar", "e.jar", str(epochal.jar_path())]

    def test_the_extension_is_added_once_beside_those_of_the_builder(self) -> None:
        builder = SparkSession.builder.config("spark.sql.extensions", "org.x.Theirs")
        assert extensions(epochal.configure(epochal.configure(builder))) == ["org.x.Theirs", OURS]

    def test_extensions_of_the_submit_arguments_and_of_the_defaults_file_are_kept(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "spark-defaults.conf").write_text("spark.sql.extensions=org.x.Defaults\n")
        monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
        assert extensions(epochal.configure(SparkSession.builder)) == ["org.x.Defaults", OURS]
        monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--conf spark.sql.extensions=org.x.Submitted pyspark-shell")
        assert extensions(epochal.configure(SparkSession.builder)) == ["org.x.Submitted", OURS]

    def test_a_connect_client_is_unchanged(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delattr("pyspark.SparkContext")  # The package pyspark-client has none.
        builder = epochal.configure(SparkSession.builder.remote("sc://localhost"))
        assert builder._options == {"spark.remote": "sc://localhost"}

    def test_an_older_spark_is_refused_by_naming_the_supported_lines(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("pyspark.__version__", "3.5.6")
        with pytest.raises(
            epochal.VersionMismatchError, match=r"SPARK_UNSUPPORTED.*3\.5\.6.*4\.0, 4\.1, 4\.2 and 4\.3"
        ):
            epochal.configure(SparkSession.builder)

    def test_a_missing_jar_is_an_error_that_names_the_place(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("EPOCHAL_JAR", "/nowhere/epochal.jar")
        with pytest.raises(epochal.ConfigurationError, match=r"no jar at /nowhere/epochal.jar"):
            epochal.configure(SparkSession.builder)

    def test_a_source_tree_has_its_jar_in_dist(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("EPOCHAL_JAR", raising=False)
        assert epochal.jar_path() == ROOT / "dist" / f"epochal-spark_2.13-{VERSION}.jar"
        monkeypatch.setattr("epochal._session.VERSION", "0.0.1")
        with pytest.raises(epochal.ConfigurationError, match="Run 'make jar'"):
            epochal.jar_path()


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ("pyspark-shell", None),
        ("--jars a.jar,b.jar pyspark-shell", ["a.jar", "b.jar"]),
        ("--jars=a.jar pyspark-shell", ["a.jar"]),
        ("--conf spark.jars=a.jar pyspark-shell", ["a.jar"]),
        ("--conf=spark.jars=a.jar pyspark-shell", ["a.jar"]),
        ("--jars a.jar --conf spark.jars=b.jar pyspark-shell", ["a.jar"]),
    ],
)
def test_the_jars_of_submit_arguments_are_found(
    arguments: str, found: list[str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", arguments)
    assert _session.submit_jars() == found


@pytest.mark.slow
def test_a_new_session_has_the_jar_and_a_second_configure_changes_nothing() -> None:
    facts = run_script("""
        spark = epochal.configure(builder()).getOrCreate()
        says(rows=epochal.read.random(spark, max_rows=3, streaming=False).count(), version=epochal.check_version(spark))
        again = epochal.configure(builder()).getOrCreate()
        says(same=again is spark or again._jsparkSession == spark._jsparkSession)
        spark.stop()
        third = epochal.configure(builder()).getOrCreate()
        says(third=epochal.read.random(third, max_rows=4, streaming=False).count())
    """)
    assert facts == {"rows": 3, "version": VERSION, "same": True, "third": 4}


@pytest.mark.slow
def test_jars_of_the_submit_arguments_and_ours_both_reach_the_jvm(tmp_path: Path) -> None:
    other = tmp_path / "other.jar"
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("other.txt", "here")
    facts = run_script(
        """
        spark = epochal.configure(builder()).getOrCreate()
        loader = spark._jvm.java.lang.Thread.currentThread().getContextClassLoader()
        says(jars=spark.sparkContext.getConf().get("spark.jars"), other=loader.getResource("other.txt") is not None)
        says(version=epochal.check_version(spark))
    """,
        PYSPARK_SUBMIT_ARGS=f"--jars {other} pyspark-shell",
    )
    assert [Path(jar).name for jar in facts["jars"].split(",")] == ["other.jar", epochal.jar_path().name]
    assert facts["other"]
    assert facts["version"] == VERSION


@pytest.mark.slow
def test_a_running_session_without_the_jar_is_refused_even_if_its_conf_lists_it() -> None:
    facts = run_script("""
        spark = builder().getOrCreate()
        def refusal(function, *args):
            try:
                function(*args)
            except epochal.SessionWithoutJarError as error:
                return str(error)
        says(running=refusal(epochal.configure, builder()), check=refusal(epochal.check_version, spark))
        says(reading=refusal(epochal.read.random, spark))
        shown = builder().config("spark.jars", str(epochal.jar_path())).getOrCreate()
        says(conf=shown.conf.get("spark.jars"), after=refusal(epochal.configure, builder()))
        spark.stop()
        says(stopped=refusal(epochal.configure, builder()))
    """)
    assert facts["conf"] == str(epochal.jar_path())
    for moment in ("running", "check", "reading", "after", "stopped"):
        assert facts[moment].startswith("[EPOCHAL.SESSION_WITHOUT_JAR]"), moment
        assert f"spark-submit --jars {JAR}" in facts[moment]
