"""The examples of the pages under docs/ run as they are, against the demo economy."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conftest import Served, headwater, serve, stop
from headwater import _calls

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))


def name(page: Path) -> str:
    """Return the path of a page below docs/."""
    return str(page.relative_to(ROOT / "docs"))


@dataclass
class ExampleFolder:
    """The place where examples are run: a server of the demo economy, its store, and commands at hand."""

    gateway: Served
    environment: dict[str, str]
    folder: Path


@pytest.fixture(scope="module")
def place(demo: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ExampleFolder]:
    gateway = serve(demo, 1_000_000)
    folder = tmp_path_factory.mktemp("commands")
    curl = shutil.which("curl")
    if curl is None:
        pytest.skip("left out: there is no curl to run the examples with")
    # The curl of the pages, which here ends with an error where the answer is none, and returns what it was.
    shim = folder / "curl"
    shim.write_text(f'#!/bin/sh\nexec {curl} --silent --show-error --fail-with-body --max-time 60 "$@"\n')
    shim.chmod(0o755)
    commands = os.pathsep.join([str(folder), str(Path(sys.executable).parent), os.environ["PATH"]])
    own = {"URL": gateway.url, "KEY": gateway.key, "PATH": commands, "HEADWATER_STORE": str(demo)}
    yield ExampleFolder(gateway, {**os.environ, **own}, folder)
    stop(gateway)


def blocks(page: Path, language: str) -> list[str]:
    """Give the blocks of a language, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)


def holds_something(answer: Any) -> bool:  # noqa: ANN401
    """Return whether an answer has data, and rows where it has a place for them."""
    data = answer["data"]
    rows = (
        [data[key] for key in {route.rows for route in _calls.ROUTES.values()} if key in data]
        if isinstance(data, dict)
        else [data]
    )
    return bool(data) and all(rows)


def commands(block: str) -> list[str]:
    """Give the commands of a block: lines, with those that continue behind a backslash or inside quotes."""
    found, held = [], ""
    for line in block.splitlines():
        held = f"{held}\n{line}" if held else line
        if not held.endswith("\\") and held.count("'") % 2 == 0:
            found.append(held)
            held = ""
    return [command for command in found if command.strip()]


def test_there_are_pages_and_their_links_lead_somewhere() -> None:
    assert len(PAGES) >= 8
    for page in PAGES:
        for link in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
            assert link.startswith("https://") or (page.parent / link).exists(), f"{name(page)}: {link}"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_curl_of_a_page_is_answered_with_data(page: Path, place: ExampleFolder) -> None:
    for command in (command for block in blocks(page, "sh") for command in commands(block)):
        shell = ["bash", "-euo", "pipefail", "-c", command]
        done = subprocess.run(
            shell, env=place.environment, cwd=place.folder, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, f"{name(page)}: {command}\n{done.stdout}\n{done.stderr}"
        assert done.stdout.strip(), f"{name(page)}: {command} answers nothing"
        if command.startswith("curl") and done.stdout.startswith("{"):
            assert holds_something(json.loads(done.stdout)), f"{name(page)}: {command}\n{done.stdout}"
        elif command.startswith("curl"):
            assert len(done.stdout.splitlines()) > 1, f"{name(page)}: {command}\n{done.stdout}"


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=name)
def test_the_python_of_a_page_runs_and_prints(page: Path, place: ExampleFolder) -> None:
    script = "\n".join(blocks(page, "python"))
    done = subprocess.run(
        [sys.executable, "-c", script], env=place.environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, f"{name(page)}:\n{done.stdout}\n{done.stderr}"
    assert done.stdout.strip(), f"{name(page)} prints nothing"
    assert "shape: (0," not in done.stdout, f"{name(page)} shows an empty frame:\n{done.stdout}"


def settings(text: str) -> dict[str, str]:
    """Give the settings that a server logs when it starts, a line each."""
    return dict(re.findall(r'setting key="([a-z]+\.[a-z_]+)" value="(.*)"$', text, re.MULTILINE))


def started_with(config: Path | None, store: Path, state: Path) -> dict[str, str]:
    """Start a server, and give the settings it says it has."""
    script = Path(sys.executable).with_name("headwater")
    arguments = [
        str(script),
        "serve",
        "--store",
        str(store),
        "--listen",
        "127.0.0.1:0",
        "--json",
        "--set",
        "server.admin_listen=none",
    ]
    arguments += ["--state", str(state), *(["--config", str(config)] if config is not None else [])]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    line = process.stdout.readline()
    process.terminate()
    said = process.communicate(timeout=20)[1]
    assert line, said
    return settings(said)


def test_example_configuration_names_every_key_and_default(demo: Path, tmp_path: Path) -> None:
    example = (ROOT / "deploy/headwater.toml").read_text()
    # As it is it is taken but for its paths; with everything put in force it says what holds without it.
    needs_more = (
        "tls_",
        "secrets_dir",
        "path =",
        "trusted_proxies",
        "redis",
        "listen =",
        "format =",
        "origins",
        "cors_origins",
        "allowed_hosts",
        "log_dir",
        "admin_listen",
        "backup_dir",
        "otlp",
        "authorities",
        "endpoint_secs",
        "risk_parameters",
        "classifiers",
        "provider_url",
        "provider_name",
        "provider_key",
        *(f"{chain} =" for chain in ("ethereum", "bsc", "tron", "bitcoin")),
    )
    lines = [re.sub(r"^# (\[|\w+ = )", r"\1", line) for line in example.splitlines()]
    whole = tmp_path / "whole.toml"
    whole.write_text("\n".join(line for line in lines if not line.startswith(needs_more)))
    default, reported = (started_with(config, demo, tmp_path / "state") for config in (None, whole))
    assert default
    assert {**reported, "server.listen": ""} == {**default, "server.listen": ""}
    section, named = "", set()
    for line in lines:
        if head := re.match(r"^\[(\w+)\]", line):
            section = head[1]
        elif key := re.match(r"^(\w+) = ", line):
            named.add(f"{section}.{key[1]}")
    assert named == set(default)


def test_the_unit_is_one_that_systemd_takes() -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("left out: there is no systemd-analyze to check the unit with")
    unit = ROOT / "deploy/headwater.service"
    done = subprocess.run([analyze, "verify", unit], capture_output=True, text=True, check=False)
    # Where it is not installed the binary is missing, which is not a fault of the unit.
    faults = [line for line in done.stderr.splitlines() if "is not executable" not in line and "headwater" in line]
    assert not faults, faults
    assert "is not executable" in done.stderr or done.returncode == 0, done.stderr


def test_what_the_page_adds_to_the_unit_is_taken_too(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("left out: there is no systemd-analyze to check the unit with")
    unit = tmp_path / "headwater.service"
    unit.write_text((ROOT / "deploy/headwater.service").read_text())
    additions = tmp_path / "headwater.service.d"
    additions.mkdir()
    added = blocks(ROOT / "docs/run-it-for-others.md", "ini")
    assert added
    for number, block in enumerate(added):
        (additions / f"{number}.conf").write_text(block)
    done = subprocess.run([analyze, "verify", unit], capture_output=True, text=True, check=False)
    faults = [line for line in done.stderr.splitlines() if "is not executable" not in line and "headwater" in line]
    assert not faults, faults


def test_the_command_line_of_the_pages_is_known() -> None:
    """Commands that are shown without being run are commands that exist."""
    known = headwater("--help").stdout
    for page in PAGES:
        for block in blocks(page, "text"):
            for command in re.findall(r"^headwater ([a-z]+)", block, re.MULTILINE):
                assert re.search(rf"^  {command}\b", known, re.MULTILINE), f"{name(page)}: headwater {command}"
