"""Clusters on this machine: a master of Spark with workers, and a server of Sail, which tests may kill."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from conftest import free_port

# A bound for machines that have much else to do.
DEADLINE_SECS = 600.0
# Small heaps: the memory of the work is outside of them.
_HEAP = "512m"


def wait_until(reached: Callable[[], object], what: str, secs: float = DEADLINE_SECS) -> None:
    """Wait for a condition; at the deadline the test fails with what it waited for."""
    deadline = time.monotonic() + secs
    while not reached():
        assert time.monotonic() < deadline, f"not within {secs:.0f} seconds: {what}"
        time.sleep(0.02)


def children(parent: int) -> list[int]:
    """Return the processes that a process started."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                # The name of the program may contain blanks and brackets; the parent comes second behind it.
                stat = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(stat[1]) == parent:
                    found.append(int(entry.name))
    return found


def descendants(parent: int) -> Iterator[int]:
    """Return all processes below a process."""
    for child in children(parent):
        yield child
        yield from descendants(child)


def kill(process: int) -> None:
    """End a process as a power failure does."""
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


class Cluster:
    """A master and two workers on loopback. A driver gets one executor with one core of each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._started: list[subprocess.Popen[bytes]] = []
        spec = importlib.util.find_spec("pyspark")
        assert spec is not None
        assert spec.origin is not None
        self._home = Path(spec.origin).parent
        port = free_port()
        self.url = f"spark://127.0.0.1:{port}"
        log = self._start("master", "org.apache.spark.deploy.master.Master", "--port", str(port))[1]
        wait_until(lambda: "Starting Spark master" in log.read_text(), f"a master: {log}")
        self.workers: dict[str, subprocess.Popen[bytes]] = {}
        for name in ("first", "second"):
            self.start_worker(name)

    def environment(self) -> dict[str, str]:
        """Return the environment of all processes, the driver among them."""
        own = {
            "SPARK_HOME": str(self._home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": "256m",
            "PYSPARK_PYTHON": sys.executable,
        }
        return {**os.environ, **own}

    def start_worker(self, name: str) -> None:
        """Start a worker, in place of one that was killed."""
        place = self.folder / name
        place.mkdir(exist_ok=True)
        options = ("--cores", "2", "--memory", "1500m", "--work-dir", str(place / "work"), self.url)
        process, log = self._start(
            name, "org.apache.spark.deploy.worker.Worker", *options, SPARK_LOCAL_DIRS=str(place / "local")
        )
        wait_until(lambda: "Successfully registered with master" in log.read_text(), f"a worker: {log}")
        self.workers[name] = process

    def kill_worker(self, name: str) -> None:
        """End a worker with its executors and their Python processes, as a machine that fails."""
        worker = self.workers.pop(name)
        worker.send_signal(signal.SIGSTOP)
        below = list(descendants(worker.pid))
        kill(worker.pid)
        for process in below:
            kill(process)
        worker.wait()

    def executors(self) -> list[int]:
        """Return the executors of all drivers."""
        return sorted(executor for worker in self.workers.values() for executor in children(worker.pid))

    def workers_with_executors(self) -> set[str]:
        """Return the workers that run an executor: after a failure both may be on one worker."""
        return {name for name, worker in self.workers.items() if children(worker.pid)}

    def python_processes(self) -> list[int]:
        """Return the processes that run tasks: the daemon of each executor forks them."""
        daemons = [daemon for executor in self.executors() for daemon in children(executor)]
        return [process for daemon in daemons for process in children(daemon)]

    def stop(self) -> None:
        """End everything."""
        for process in reversed(self._started):
            for below in list(descendants(process.pid)):
                kill(below)
            kill(process.pid)
            process.wait()

    def _start(self, name: str, role: str, *arguments: str, **environment: str) -> tuple[subprocess.Popen[bytes], Path]:
        log = self.folder / f"{name}.log"
        command = [str(self._home / "bin/spark-class"), role, "--host", "127.0.0.1", "--webui-port", "0", *arguments]
        with log.open("wb") as output:
            process = subprocess.Popen(
                command, env={**self.environment(), **environment}, stdout=output, stderr=subprocess.STDOUT
            )
        self._started.append(process)
        return process, log


class SailServer:
    """A server of Sail, which runs tasks in its own process."""

    def __init__(self, folder: Path) -> None:
        self._log = folder / "sail.log"
        port = free_port()
        self.url = f"sc://127.0.0.1:{port}"
        command = [str(Path(sys.executable).with_name("sail")), "spark", "server", "--ip", "127.0.0.1"]
        with self._log.open("wb") as output:
            self.process = subprocess.Popen(
                [*command, "--port", str(port)], stdout=output, stderr=subprocess.STDOUT, env=self.environment()
            )
        wait_until(lambda: "Starting the Spark Connect server" in self._log.read_text(), f"a server: {self._log}")

    def environment(self) -> dict[str, str]:
        """Return the environment of the server and of drivers."""
        return {**os.environ, "HEADWATER_STAGE": str(self._log.with_name("stage"))}

    def executors(self) -> list[int]:
        """Return the process that runs tasks."""
        return [self.process.pid]

    def stop(self) -> None:
        """End the server as a power failure does."""
        kill(self.process.pid)
        self.process.wait()


def session(url: str, app: str = "headwater") -> Any:  # noqa: ANN401
    """Return a session of the cluster or server of a URL."""
    from pyspark.sql import SparkSession  # noqa: PLC0415
    from pyspark.sql.connect.client.retries import DefaultPolicy  # noqa: PLC0415

    builder: Any = SparkSession.builder
    if url.startswith("sc://"):
        made = builder.remote(url).create()
        # A server that is gone stays so; the client would try for minutes, also at the end of the process.
        made.client.set_retry_policies([DefaultPolicy(max_retries=2)])
        return made
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": _HEAP,
        "spark.executor.memory": _HEAP,
        "spark.executor.cores": "1",
        "spark.cores.max": "2",
        # Tasks are repeated although nothing is wrong with them.
        "spark.speculation": "true",
        "spark.speculation.interval": "50ms",
        "spark.speculation.minTaskRuntime": "50ms",
        "spark.speculation.multiplier": "1.1",
        "spark.speculation.quantile": "0.1",
        "spark.executor.memoryOverhead": "300m",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.master(url).appName(app).getOrCreate()
