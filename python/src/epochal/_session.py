"""The jar, and the sessions that carry it.

pyspark launches the JVM through ``spark-submit``, where ``--jars`` overrides ``--conf spark.jars``, which overrides
``spark-defaults.conf``. Of repeated settings the last one applies; they are never joined.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epochal import _hooks
from epochal._version import SCALA, SPARK_LINES, VERSION
from epochal.errors import ConfigurationError, ConnectUnsupportedError, SessionWithoutJarError, VersionMismatchError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Environment variable with the path of a jar to use instead of the package's own, for development of Epochal.
JAR_VARIABLE = "EPOCHAL_JAR"

_PREFIX = f"epochal-spark_{SCALA}-"
_NAME = re.compile(r"epochal-spark_2\.\d+-(?P<version>.+)\.jar")
_COORDINATES = re.compile(r"io\.epochal:epochal-spark_2\.\d+:(?P<version>[^,\s]+)")
_JARS = "spark.jars"
_SUBMIT_ARGS = "PYSPARK_SUBMIT_ARGS"

#: The extension that masks secrets in SQL before Spark logs them.
_EXTENSIONS = "spark.sql.extensions"
_EXTENSION = "io.epochal.formats.EpochalExtensions"


def jar_path() -> Path:
    """The path of this package's jar, for ``spark-submit --jars`` or a Spark Connect server.

    The jar is inside the installed package, or in ``dist`` of a source tree. The environment variable ``EPOCHAL_JAR``
    overrides the path.

    Raises:
        ConfigurationError: the file does not exist (``JAR_MISSING``).
    """
    override = os.environ.get(JAR_VARIABLE)
    package, name = Path(__file__).resolve().parent, f"{_PREFIX}{VERSION}.jar"
    in_source_tree = (package.parents[2] / "version.txt").is_file()
    own = package.parents[2] / "dist" / name if in_source_tree else package / "jars" / name
    path = Path(override).resolve() if override else own
    if not path.is_file():
        how = "Run 'make jar'" if in_source_tree else "Install the wheel again"
        hint = "Correct" if override else f"{how}, or name a jar with"
        raise ConfigurationError(
            "JAR_MISSING", f"There is no jar at {path}.", f"{hint} the environment variable {JAR_VARIABLE}."
        )
    return path


def configure(builder: SparkSession.Builder) -> SparkSession.Builder:
    """Adds Epochal's jar to the sessions of a builder, next to the jars that are already configured.

    The jars of the builder, of ``spark-defaults.conf`` and of ``PYSPARK_SUBMIT_ARGS`` are kept. A jar that is already
    configured is not added again; neither is one in a job that ``spark-submit`` has started with the jar.

    ``io.epochal.formats.EpochalExtensions`` is added to ``spark.sql.extensions``: it keeps secrets in SQL
    (``CREATE TEMPORARY VIEW … USING epochal-rest OPTIONS (…)``) out of Spark's event log and UI.

    It also installs hooks in this process, once: PySpark raises Epochal's errors (``epochal.errors``), an uncaught one
    ends a script with a short traceback, and IPython shows the state of a ``StreamingQuery``. Functions that take a
    session, a DataFrame or a query install them too; ``import epochal`` alone does not.

    On a Spark Connect client (``builder.remote("sc://…")``) the builder is returned unchanged: start the server with
    ``--jars`` and the path that :func:`jar_path` returns.

    >>> spark = epochal.configure(SparkSession.builder.appName("comments")).getOrCreate()  # doctest: +SKIP

    Raises:
        SessionWithoutJarError: this process's JVM runs without the jar. It cannot be added later: Spark would show it
            in the session's configuration but not find the formats.
        VersionMismatchError: the configured jar is of another release than this package, or pyspark is older than 4.0.
        ConfigurationError: this package's jar is missing.
    """
    _check_spark()
    _hooks.install()
    options: dict[str, Any] = getattr(builder, "_options", {})
    if _is_remote(options):
        return builder
    from pyspark import SparkContext  # A Connect client has none.

    if (jvm := _running_jvm()) is not None:
        check_jvm(jvm)
        if SparkContext._active_spark_context is not None:
            return builder
    jars = list(dict.fromkeys(_configured_jars(options)))
    for name in [*(_basename(jar) for jar in jars), *_packages(options)]:
        _check_release(name)
    given = _is_submitted() or bool(_packages(options)) or any(_NAME.fullmatch(_basename(jar)) for jar in jars)
    if not given:
        jars.append(str(jar_path()))
        if submit_jars() is not None:
            _set_submit_jars(jars)
    builder = builder.config(_EXTENSIONS, ",".join(_configured_extensions(options)))
    return builder.config(_JARS, ",".join(jars)) if jars else builder


def check_version(spark: SparkSession) -> str:
    """Checks that the session runs with this package's jar.

    Returns:
        The version of the jar, which equals ``epochal.__version__``.

    Raises:
        SessionWithoutJarError: the session runs without the jar.
        VersionMismatchError: the jar is from another release than this package.
        ConnectUnsupportedError: ``spark`` is a Spark Connect session, which has no access to the JVM.
    """
    _hooks.install()
    jvm = getattr(spark, "_jvm", None)
    if jvm is None:
        raise ConnectUnsupportedError(
            "CONNECT_UNSUPPORTED",
            "check_version asks the driver's JVM, which a Spark Connect client does not have.",
            f"Check that the server was started with --jars {_PREFIX}{VERSION}.jar.",
        )
    return check_jvm(jvm)


def _check_spark() -> None:
    import pyspark

    if int(pyspark.__version__.partition(".")[0]) < int(SPARK_LINES[0].partition(".")[0]):
        raise VersionMismatchError(
            "SPARK_UNSUPPORTED",
            f"This is Spark {pyspark.__version__}, but Epochal runs on Spark {', '.join(SPARK_LINES[:-1])} "
            f"and {SPARK_LINES[-1]}.",
            "Install one of these: pip install 'pyspark>=4.0,<4.4'.",
        )


def _is_remote(options: dict[str, Any]) -> bool:
    """Whether the session belongs to a server that this process does not start."""
    from pyspark.util import is_remote_only

    url = options.get("spark.remote") or os.environ.get("SPARK_REMOTE") or ""
    return bool(is_remote_only()) or str(url).startswith("sc://")


def _running_jvm() -> Any:
    """The JVM of this process; None before it is started. It outlives the sessions that are stopped."""
    from pyspark import SparkContext

    if _is_submitted():
        SparkContext._ensure_initialized()
    return SparkContext._jvm


def _is_submitted() -> bool:
    """Whether ``spark-submit`` has started this process and its JVM. Where the configuration has the jars of
    ``spark-submit`` depends on the cluster: in ``spark.jars``, ``spark.yarn.dist.jars``, or nowhere."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def check_jvm(jvm: Any) -> str:
    """Checks the class path of the JVM: a session's configuration also shows jars that were set too late."""
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    if loader.getResource("io/epochal/formats/Epochal.class") is None:
        raise SessionWithoutJarError.of_process()
    version = str(jvm.io.epochal.formats.Epochal.version())
    _check_release(f"{_PREFIX}{version}.jar")
    return version


def _check_release(name: str) -> None:
    match = _NAME.fullmatch(name) or _COORDINATES.fullmatch(name)
    if match and match["version"] != VERSION:
        raise VersionMismatchError(
            "VERSION_MISMATCH",
            f"The session has Epochal's jar {match['version']} ({name}), but the Python package is {VERSION}.",
            f"Install the package of the jar (pip install epochal-{match['version']}-py3-none-any.whl), or give Spark "
            f"the jar {_PREFIX}{VERSION}.jar; epochal.configure adds it when no other one is set.",
        )


def _configured_jars(options: dict[str, Any]) -> list[str]:
    from pyspark import SparkConf, SparkContext

    jars = split(options.get(_JARS))
    if SparkContext._jvm is not None:
        return jars or split(SparkConf().get(_JARS, ""))
    of_submit = submit_jars()
    return jars + (of_submit or []) if jars or of_submit is not None else split(_default(_JARS))


def _configured_extensions(options: dict[str, Any]) -> list[str]:
    from pyspark import SparkConf, SparkContext

    extensions = options.get(_EXTENSIONS)
    if extensions is None and SparkContext._jvm is not None:
        extensions = SparkConf().get(_EXTENSIONS, "")
    elif extensions is None:
        extensions = _of_submit(_EXTENSIONS) or _default(_EXTENSIONS)
    return list(dict.fromkeys([*split(extensions), _EXTENSION]))


def split(jars: str | None) -> list[str]:
    return [jar.strip() for jar in (jars or "").split(",") if jar.strip()]


def submit_jars() -> list[str] | None:
    """The jars in ``PYSPARK_SUBMIT_ARGS``; None if it sets no jars."""
    jars = _of_submit(_JARS)
    return None if jars is None else split(jars)


def _set_submit_jars(jars: list[str]) -> None:
    args = shlex.split(os.environ[_SUBMIT_ARGS])
    for index, before, _ in _positions(args, _JARS):
        args[index] = before + ",".join(jars)
    os.environ[_SUBMIT_ARGS] = shlex.join(args)


def _of_submit(key: str) -> str | None:
    """The value of a key in ``PYSPARK_SUBMIT_ARGS``; None if it is not set."""
    positions = _positions(shlex.split(os.environ.get(_SUBMIT_ARGS, "")), key)
    return positions[-1][2] if positions else None


def _positions(args: list[str], key: str) -> list[tuple[int, str, str]]:
    """(index, text before the value, value) of every argument that sets a key, in ascending precedence."""
    places: list[tuple[int, int, str, str]] = []
    flags = [("--conf", f"{key}=", 0), ("-c", f"{key}=", 0)] + ([("--jars", "", 1)] if key == _JARS else [])
    for index, arg in enumerate(args):
        previous = args[index - 1] if index else ""
        for flag, prefix, rank in flags:
            before = prefix if previous == flag else f"{flag}={prefix}"
            if arg.startswith(before) and (previous == flag or flag != "-c"):
                places.append((rank, index, before, arg[len(before) :]))
    return [(index, before, value) for _, index, before, value in sorted(places)]


def _default(key: str) -> str | None:
    """The value of a key in ``spark-defaults.conf``; None if it is not set."""
    from pyspark.find_spark_home import _find_spark_home

    home = os.environ.get("SPARK_CONF_DIR") or os.path.join(_find_spark_home(), "conf")
    path = Path(home) / "spark-defaults.conf"
    lines = path.read_text("utf-8").splitlines() if path.is_file() else []
    pairs = [line.strip().replace("=", " ", 1).partition(" ") for line in lines]
    return next((value.strip() for name, _, value in reversed(pairs) if name == key), None)


def _packages(options: dict[str, Any]) -> list[str]:
    return [match.group(0) for match in _COORDINATES.finditer(str(options.get("spark.jars.packages", "")))]


def _basename(jar: str) -> str:
    return jar.replace("\\", "/").rsplit("/", 1)[-1]
