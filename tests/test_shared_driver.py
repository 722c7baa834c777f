"""A driver that serves several users: what a Spark Connect client can make it read, load and send."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import epochal
from support import api as api_support
from support import connect_server
from support.api import Api
from support.checkpoints import QUERY, of_kind
from support.places import ROOT
from support.scripts import run_script

SECRET = "sesame-of-the-driver"
VARIABLE = "EPOCHAL_TEST_DRIVER_SECRET"

#: Reads the API's records with options; prints the condition of the refusal, or the number of records.
CLIENT = """
spark = epochal.configure(SparkSession.builder.remote({address!r})).getOrCreate()
for name, value in {conf!r}.items():
    try:
        spark.conf.set(name, value)
    except Exception:
        pass  # a static setting, which Spark refuses itself
def tried(format, options):
    try:
        reader = spark.read.format(format).schema("id INT").options(**options)
        return str(reader.load().count())
    except epochal.EpochalError as error:
        return error.condition + " " + str(error)
def written(format, options):
    try:
        spark.range(1).write.format(format).options(**options).mode("append").save()
        return "written"
    except epochal.EpochalError as error:
        return error.condition + " " + str(error)
says(read=[tried("epochal-rest", options) for options in {reads!r}],
     written=[written(format, options) for format, options in {writes!r}])
spark.stop()
"""

#: Settings by which a client may try to get access.
OWN_SETTINGS = {
    "spark.epochal.sharedDriver": "false",
    "spark.epochal.allowedFiles": "/",
    "spark.epochal.allowedEnvironment": "*",
    "spark.epochal.allowedClasses": "*",
    "spark.epochal.allowedDriverProperties": "socketFactory",
}


def ask(
    address: str,
    reads: list[dict[str, str]] | None = None,
    writes: list[tuple[str, dict[str, str]]] | None = None,
    conf: dict[str, str] | None = None,
) -> dict[str, list[str]]:
    source = CLIENT.format(address=address, conf=conf or {}, reads=reads or [], writes=writes or [])
    return run_script(source, PYTHONPATH=f"{ROOT / 'tests'}:{':'.join(sys.path)}")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with ``secret``, ``allowed/token``, and ``allowed/link``, a link to ``secret``."""
    directory = tmp_path_factory.mktemp("driver")
    (directory / "allowed").mkdir()
    (directory / "secret").write_text(SECRET)
    (directory / "allowed" / "token").write_text(f"{SECRET}-allowed\n")
    (directory / "allowed" / "two").write_text("one\ntwo\n")
    (directory / "allowed" / "large").write_text("x" * 70_000)
    (directory / "allowed" / "link").symlink_to(directory / "secret")
    os.mkfifo(directory / "allowed" / "pipe")
    return directory


@pytest.fixture(scope="module")
def server(place: Path) -> Iterator[str]:
    """A server with default settings."""
    with connect_server.running(epochal.jar_path(), environment={VARIABLE: SECRET}) as address:
        yield address


@pytest.fixture(scope="module")
def opened_server(place: Path) -> Iterator[str]:
    """A server whose owner allows a directory and a prefix of environment variables."""
    conf = {
        "spark.epochal.allowedFiles": str(place / "allowed"),
        "spark.epochal.allowedEnvironment": "EPOCHAL_TEST_*",
    }
    with connect_server.running(epochal.jar_path(), conf, {VARIABLE: SECRET}) as address:
        yield address


def places(api: Api, place: Path) -> list[dict[str, str]]:
    """Options that name a file or an environment variable of the driver, with the caller's own API."""
    file = str(place / "secret")
    url = {"url": api.url}
    return [
        url | {"bearerTokenFile": file},
        url | {"bearerTokenEnv": VARIABLE},
        url | {"apiKeyFile": file},
        url | {"user": "u", "passwordFile": file},
        url | {"user": "u", "passwordEnv": VARIABLE},
        url | {"oauth.tokenUrl": api.url, "oauth.clientId": "c", "oauth.clientSecretFile": file},
        url | {"oauth.tokenUrl": api.url, "oauth.clientId": "c", "oauth.refreshTokenEnv": VARIABLE},
        url | {"tls.caFile": file},
        url | {"tls.certFile": file},
        url | {"proxy": api.url, "proxyUser": "u", "proxyPasswordFile": file},
        url | {"partitionParams": file},
        url | {"signerClass": "java.lang.Runtime"},
        url | {"bearerTokenFile": "/no/such/file"},
        url | {"bearerTokenEnv": "NO_SUCH_VARIABLE"},
        url | {"BEARERTOKENFILE": file, "spark.epochal.sharedDriver": "false"},
    ]


@pytest.mark.slow
def test_a_client_reads_no_file_and_no_variable_of_the_driver_with_any_setting(
    server: str, place: Path, api: Api
) -> None:
    facts = ask(server, places(api, place), conf=OWN_SETTINGS)
    assert [said.split()[0] for said in facts["read"]] == ["OPTION_NOT_ALLOWED"] * len(places(api, place))
    assert api.requests == []
    assert not any(SECRET in said for said in facts["read"])


def test_the_driver_of_a_single_user_reads_the_named_files(spark: SparkSession, place: Path) -> None:
    with api_support.serve(Api(records=[{"id": 1}])) as api:
        options = {"url": api.url, "bearerTokenFile": str(place / "secret")}
        assert spark.read.format("epochal-rest").schema("id INT").options(**options).load().count() == 1
        assert {request.headers["authorization"] for request in api.requests} == {f"Bearer {SECRET}"}


CHECKPOINT_CLIENT = """
spark = SparkSession.builder.remote({address!r}).getOrCreate()
try:
    found = epochal.checkpoint({path!r}, spark=spark)
    says(found=[found.query_id, found.last_committed, str(found.epochs[-1].sources[0])])
except epochal.EpochalError as error:
    says(found=[error.condition])
try:
    epochal.ledger("jdbc:postgresql://127.0.0.1:1/x", spark=spark)
except epochal.ConnectUnsupportedError as error:
    says(ledger=error.condition)
spark.stop()
"""


@pytest.mark.slow
def test_a_client_reads_the_checkpoints_that_the_owner_allows_and_no_others(
    server: str, opened_server: str, place: Path
) -> None:
    allowed = of_kind(place / "allowed" / "checkpoint", "epochal-rest")
    for address, found in ((server, ["OPTION_NOT_ALLOWED"]), (opened_server, [QUERY, 2, "epochal-rest: 30 records"])):
        source = CHECKPOINT_CLIENT.format(address=address, path=str(allowed))
        facts = run_script(source, PYTHONPATH=f"{ROOT / 'tests'}:{':'.join(sys.path)}")
        assert (facts["found"], facts["ledger"]) == (found, "CONNECT_UNSUPPORTED")


@pytest.mark.slow
def test_a_refusal_does_not_reveal_whether_a_file_exists(server: str, place: Path, api: Api) -> None:
    names = ["secret", "nothing"]
    files = [{"url": api.url, "bearerTokenFile": str(place / name)} for name in names]
    variables = [{"url": api.url, "bearerTokenEnv": name} for name in (VARIABLE, "NO_SUCH_VARIABLE")]
    said = ask(server, files + variables)["read"]
    assert said[0].replace("secret", "nothing") == said[1]
    assert said[2].replace(VARIABLE, "NO_SUCH_VARIABLE") == said[3]
    assert "spark.epochal.allowedFiles" in said[0]
    assert "spark.epochal.allowedEnvironment" in said[2]


@pytest.mark.slow
def test_a_client_writes_no_file_and_loads_no_class_of_the_driver(server: str, place: Path, api: Api) -> None:
    table = {"dbtable": "t", "createTable": "true"}
    urls = [
        f"jdbc:sqlite:{place}/new.db",
        f"jdbc:sqlite:file:{place}/new.db?mode=rwc",
        f"jdbc:h2:{place}/new",
        "jdbc:postgresql://127.0.0.1:1/x?sslrootcert=/etc/passwd",
        "jdbc:postgresql://127.0.0.1:1/x?service=x",
        "jdbc:postgresql://127.0.0.1:1/x?socketF%61ctory=java.lang.Runtime",
    ]
    writes = [("epochal-jdbc", table | {"url": url}) for url in urls]
    writes += [
        ("epochal-jdbc", table | {"url": "jdbc:postgresql://127.0.0.1:1/x", "driver": "java.lang.Runtime"}),
        ("epochal-jdbc", table | {"url": "jdbc:postgresql://127.0.0.1:1/x", "spillDirectory": str(place / "spill")}),
        ("epochal-rest", {"url": api.url, "deadLetterPath": str(place / "refused")}),
    ]
    said = ask(server, writes=writes, conf=OWN_SETTINGS)["written"]
    assert [text.split()[0] for text in said] == ["OPTION_NOT_ALLOWED"] * len(writes), said
    assert api.requests == []
    assert sorted(path.name for path in place.iterdir()) == ["allowed", "secret"]


@pytest.mark.slow
def test_a_password_file_of_the_drivers_user_is_not_sent_to_a_clients_server(tmp_path: Path) -> None:
    """PgJDBC reads the file by default if no password is set."""
    from support.passwords import AskingServer

    (tmp_path / "pgpass").write_text(f"*:*:*:*:{SECRET}\n")
    (tmp_path / "pgpass").chmod(0o600)
    with (
        AskingServer() as asking,
        connect_server.running(epochal.jar_path(), environment={"PGPASSFILE": str(tmp_path / "pgpass")}) as address,
    ):
        options = {"url": f"jdbc:postgresql://127.0.0.1:{asking.port}/x", "user": "me", "dbtable": "t"}
        ask(address, writes=[("epochal-jdbc", options)])
        assert asking.connections > 0
        assert asking.passwords == [] or set(asking.passwords) == {""}


@pytest.mark.slow
def test_only_files_and_variables_that_the_owner_allows_can_be_read(opened_server: str, place: Path) -> None:
    with api_support.serve(Api(records=[{"id": 1}, {"id": 2}])) as api:
        allowed = place / "allowed"
        good = [
            {"url": api.url, "bearerTokenFile": str(allowed / "token")},
            {"url": api.url, "bearerTokenEnv": VARIABLE},
        ]
        bad = [
            str(place / "secret"),
            str(allowed / "link"),
            str(allowed / ".." / "secret"),
            str(allowed / "none" / ".." / ".." / "secret"),
        ]
        odd = [allowed / "two", allowed / "large", allowed / "pipe", allowed / "none", allowed]
        reads = good + [{"url": api.url, "bearerTokenFile": str(path)} for path in [*bad, *odd]]
        table = {"url": f"jdbc:sqlite:{allowed}/x.db", "dbtable": "t", "createTable": "true"}
        said = ask(opened_server, reads, writes=[("epochal-jdbc", table)])
        assert said["read"][:2] == ["2", "2"]
        assert [text.split()[0] for text in said["read"][2:6]] == ["OPTION_NOT_ALLOWED"] * 4, said
        assert [text.split()[0] for text in said["read"][6:]] == ["SECRET_UNREADABLE"] * 5, said
        assert said["written"] == ["written"]
        tokens = {request.headers["authorization"] for request in api.requests}
        assert tokens == {f"Bearer {SECRET}-allowed", f"Bearer {SECRET}"}


@pytest.mark.slow
def test_a_thrift_client_reads_no_file_of_the_driver(place: Path, api: Api, tmp_path: Path) -> None:
    with connect_server.thrift(epochal.jar_path(), tmp_path, {}) as url:
        options = f"url '{api.url}', bearerTokenFile '{place / 'secret'}'"
        output = connect_server.beeline(
            url,
            [
                "SET spark.epochal.allowedFiles=/",
                "SET spark.epochal.sharedDriver=false",
                f"CREATE TEMPORARY VIEW v (id INT) USING `epochal-rest` OPTIONS ({options})",
                "SELECT * FROM v",
            ],
        )
    assert "EPOCHAL.OPTION_NOT_ALLOWED" in output, output
    assert api.requests == []
