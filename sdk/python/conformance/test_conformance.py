"""Requests that nobody thought of, made from the description of the API, against a real daemon.

Whatever is asked: no fault of the daemon's own, every answer is as described, and every refusal is a problem by RFC 9457.
What would stop the daemon is left out, and what would run something is made to run `true`.
"""

from __future__ import annotations

import copy
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Dict, Iterator, TypeAlias

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)

from gateway import Gateway

ROOT = Path(__file__).resolve().parents[3]
DESCRIPTION = ROOT / "crates/kennel-http/openapi.json"
PROGRAMS = os.environ.get("KENNEL_TEST_PROGRAMS") or str(ROOT / "target/debug")
EXAMPLES = int(os.environ.get("KENNEL_TEST_EXAMPLES", "5"))
"""For each operation. The same ones each time: a wider search is made by hand."""
SLOWEST = 10
"""The seconds after which an answer counts as none."""

# The last would open ports of this machine.
LEFT_OUT = ["stopDaemon", "replaceDaemon", "listen"]

schema = schemathesis.openapi.from_path(str(DESCRIPTION)).exclude(operation_id=LEFT_OUT)
schema.config.generation.update(modes=list(schemathesis.GenerationMode))


Case: TypeAlias = "schemathesis.Case[Any]"


class World:
    """The daemon, and what there is to be asked for."""

    def __init__(self, folder: Path, url: str, ended: str) -> None:
        self.folder = folder
        self.url = url
        self.ended = ended
        self.idler = subprocess.Popen(["sleep", "1000"])


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    folder = Path(tempfile.mkdtemp(prefix="kennel-conformance-"))
    os.environ["KENNEL_HOME"] = str(folder / "home")
    os.environ["KENNEL_CONFIG"] = str(folder / "kennel.toml")
    (folder / "kennel.toml").write_text("")
    kennel("daemon", "start")
    try:
        ended = kennel("run", "-d", "--", "true").strip()
        kennel("wait", ended)
        kennel("member", "add", "anna", "--agent", "claude", "--cwd", str(folder))
        with Gateway(folder / "home/kennel.sock") as gateway:
            made = World(folder, gateway.url, ended)
            try:
                yield made
            finally:
                made.idler.kill()
                made.idler.wait()
    finally:
        kennel("daemon", "stop", "--grace", "1s")
        shutil.rmtree(folder, ignore_errors=True)


def kennel(*arguments: str) -> str:
    done = subprocess.run([f"{PROGRAMS}/kennel", *arguments], capture_output=True, text=True, timeout=60, check=False)
    if done.returncode:
        print(done.stderr, file=sys.stderr)
    return done.stdout


def tamed(case: Case, world: World) -> bool:
    """Has it do nothing that outlasts the test, and often ask for what there is. Says whether anything was changed."""
    before = copy.deepcopy((case.path_parameters, case.query, case.body))
    places = case.path_parameters or {}
    for name, value in places.items():
        if isinstance(value, str) and len(value) % 2 == 0:
            places[name] = {"reference": world.ended, "name": "anna"}[name]
    query: Any = case.query or {}
    for name in ("follow", "tied"):
        if query.get(name) in (True, "true"):
            query[name] = "false"
    if query.get("format") == "sse":
        # It would go on without end.
        del query["format"]
    if isinstance(case.body, dict):
        body = case.body = whole_numbers(case.body)
        tame_body(body, world)
    return before != (case.path_parameters, case.query, case.body)


def tame_body(body: Dict[str, Any], world: World) -> None:
    if body.get("argv"):
        body["argv"] = ["/bin/true"]
    if any(field in body for field in ("agent", "member", "spec")):
        # No agent is found, whatever is installed here.
        body["env"] = {}
    harmless = {"env": {}, "limits": [], "restart": {"policy": "never"}, "pen": "auto", "pid": world.idler.pid}
    for field, value in harmless.items():
        if field in body and not (field == "pid" and not is_pid(body[field])):
            body[field] = value
    if isinstance(body.get("cwd"), str) and len(body["cwd"]) % 2 == 0:
        body["cwd"] = str(world.folder)


def whole_numbers(value: Any) -> Any:
    """As every program writes them: to JSON Schema, 1.0 is one too."""
    if isinstance(value, dict):
        return {name: whole_numbers(item) for name, item in value.items()}
    if isinstance(value, list):
        return [whole_numbers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def is_pid(value: object) -> bool:
    return isinstance(value, int) and 0 < value < 1 << 31


@schemathesis.check
def refusals_are_problems(context: Any, response: Any, case: Case) -> None:
    """Whatever is refused, is so in the same form."""
    if response.status_code < 400:
        return
    kind = response.headers.get("content-type", [""])[0]
    assert kind == "application/problem+json", f"{response.status_code} with {kind or 'no type'}"
    problem = response.json()
    assert problem["status"] == response.status_code and problem["code"] and problem["detail"], problem
    assert response.status_code < 500 or response.status_code == 503, problem


@schemathesis.check
def what_is_described_is_understood(context: Any, response: Any, case: Case) -> None:
    """A request of the right form may be refused for what it says, but not for its form."""
    if response.status_code != 422 or case.meta is None or not case.meta.generation.mode.is_positive:
        return
    detail = response.json()["detail"]
    assert not any(words in detail for words in OF_FORM), detail


OF_FORM = ("the body is not what is expected here", "the body is no JSON", "Failed to deserialize")

CHECKS: Any = [
    refusals_are_problems,
    what_is_described_is_understood,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


@schema.parametrize()
@settings(
    max_examples=EXAMPLES,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_every_operation_keeps_to_its_description(case: Case, world: World) -> None:
    # What was wrong with it may be mended by that.
    checks = CHECKS if tamed(case, world) else [*CHECKS, negative_data_rejection]
    case.call_and_validate(base_url=world.url, checks=checks, timeout=SLOWEST)


def test_the_daemon_is_the_same_as_at_the_beginning(world: World) -> None:
    log = (world.folder / "home/daemon.log").read_text() if (world.folder / "home/daemon.log").exists() else ""
    assert "panicked" not in log
    status = kennel("daemon", "status", "--json")
    assert '"pid"' in status


