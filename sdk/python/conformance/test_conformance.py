"""Tests a real daemon with requests generated from the API description.

The daemon never fails internally, every response is as described, and every error is a problem document (RFC 9457). Operations
that would stop the daemon are excluded, and commands are replaced by `true`.
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
"""The number of examples per operation. They are the same in every run."""
RESPONSE_TIMEOUT = 10
"""In seconds."""

# The last one would open ports on this machine.
EXCLUDED = ["stopDaemon", "replaceDaemon", "listen"]

schema = schemathesis.openapi.from_path(str(DESCRIPTION)).exclude(operation_id=EXCLUDED)
schema.config.generation.update(modes=list(schemathesis.GenerationMode))


Case: TypeAlias = "schemathesis.Case[Any]"


class TestTarget:
    """The daemon and the objects that requests refer to."""

    __test__ = False


    def __init__(self, folder: Path, url: str, ended: str) -> None:
        self.folder = folder
        self.url = url
        self.ended = ended
        self.idler = subprocess.Popen(["sleep", "1000"])


@pytest.fixture(scope="module")
def target() -> Iterator[TestTarget]:
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
            made = TestTarget(folder, gateway.url, ended)
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


def make_harmless(case: Case, target: TestTarget) -> bool:
    """Removes lasting effects from a request, and makes it refer to existing objects. Returns whether it was changed."""
    before = copy.deepcopy((case.path_parameters, case.query, case.body))
    parameters = case.path_parameters or {}
    for name, value in parameters.items():
        if isinstance(value, str) and len(value) % 2 == 0:
            parameters[name] = {"reference": target.ended, "name": "anna"}[name]
    query: Any = case.query or {}
    for name in ("follow", "cancel_on_disconnect"):
        if query.get(name) in (True, "true"):
            query[name] = "false"
    if query.get("format") == "sse":
        # The stream would not end.
        del query["format"]
    if isinstance(case.body, dict):
        body = case.body = whole_numbers(case.body)
        make_body_harmless(body, target)
    return before != (case.path_parameters, case.query, case.body)


def make_body_harmless(body: Dict[str, Any], target: TestTarget) -> None:
    if body.get("argv"):
        body["argv"] = ["/bin/true"]
    if any(field in body for field in ("agent", "member", "spec")):
        # Without PATH no installed agent is found.
        body["env"] = {}
    harmless = {"env": {}, "limits": [], "restart": {"policy": "never"}, "pen": "auto", "pid": target.idler.pid}
    for field, value in harmless.items():
        if field in body and not (field == "pid" and not is_pid(body[field])):
            body[field] = value
    if isinstance(body.get("cwd"), str) and len(body["cwd"]) % 2 == 0:
        body["cwd"] = str(target.folder)


def whole_numbers(value: Any) -> Any:
    """Converts floats such as 1.0, which JSON Schema accepts as integers."""
    if isinstance(value, dict):
        return {name: whole_numbers(item) for name, item in value.items()}
    if isinstance(value, list):
        return [whole_numbers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def is_pid(value: object) -> bool:
    return isinstance(value, int) and 0 < value < 1 << 31


@schemathesis.check
def errors_are_problem_documents(context: Any, response: Any, case: Case) -> None:
    """Every error is a problem document."""
    if response.status_code < 400:
        return
    kind = response.headers.get("content-type", [""])[0]
    assert kind == "application/problem+json", f"{response.status_code} with {kind or 'no type'}"
    problem = response.json()
    assert problem["status"] == response.status_code and problem["code"] and problem["detail"], problem
    assert response.status_code < 500 or response.status_code == 503, problem


@schemathesis.check
def valid_requests_are_parsed(context: Any, response: Any, case: Case) -> None:
    """A request that matches the description is not refused because of its form."""
    if response.status_code != 422 or case.meta is None or not case.meta.generation.mode.is_positive:
        return
    detail = response.json()["detail"]
    assert not any(text in detail for text in FORM_ERRORS), detail


FORM_ERRORS = ("the body does not match the schema", "the body is not valid JSON", "Failed to deserialize")

CHECKS: Any = [
    errors_are_problem_documents,
    valid_requests_are_parsed,
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
def test_operations_match_their_description(case: Case, target: TestTarget) -> None:
    # The changes may have made an invalid request valid.
    checks = CHECKS if make_harmless(case, target) else [*CHECKS, negative_data_rejection]
    case.call_and_validate(base_url=target.url, checks=checks, timeout=RESPONSE_TIMEOUT)


def test_the_daemon_did_not_panic(target: TestTarget) -> None:
    log = (target.folder / "home/daemon.log").read_text() if (target.folder / "home/daemon.log").exists() else ""
    assert "panicked" not in log
    status = kennel("daemon", "status", "--json")
    assert '"pid"' in status


