"""The gateway before a cluster of ours, Google's emulator, and what drives either."""
import json
import os
import pathlib
import shutil
import subprocess

from .load import Figures
from .process import Failure, Missing, die_with_parent, wait_until

TABLE = "bench"
GO_SOURCE = pathlib.Path(__file__).resolve().parents[1] / "gateway_go"
GO_BUILD_SECONDS = 420  # a registry that does not answer is a module that cannot be had


class Gateway:
    """Started when made, as a user would start it; ended with its cluster's workshop."""

    def __init__(self, workshop, cluster):
        self.address = f"127.0.0.1:{workshop.port()}"
        self.process = cluster.launch("gateway", "gateway/edubba-gateway", {
            "address": self.address, "http.address": f"127.0.0.1:{workshop.port()}",
            "masters": cluster.masters})


class GrpcLoad:
    """
    tests/bench/grpc_load: calls over libgrpc's C core, everything that is read checked.  run() may
    be called again and again.
    """

    def __init__(self, workshop, gateway, rows, value_bytes, in_flight):
        self.workshop = workshop
        self.gateway = gateway
        self.options = {"rows": rows, "value-bytes": value_bytes, "in-flight": in_flight}

    def ask(self, what, seconds=0, **more):
        """What the program printed."""
        options = {**self.options, "address": self.gateway.address, "what": what,
                   "table": f"projects/edubba/instances/edubba/tables/{TABLE}",
                   "seconds": max(int(seconds), 1), "server-process": self.gateway.process.pid,
                   **{key.replace("_", "-"): value for key, value in more.items()}}
        arguments = [self.workshop.program("tests/bench/grpc_load")]
        for option, value in options.items():
            arguments += ["--" + option, str(value)]
        return json.loads(self.workshop.run(arguments))

    def fill(self):
        return self.ask("fill", in_flight=256)


class MutateLoad(GrpcLoad):
    """MutateRow, in the form that write windows ask for."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.last = None  # what the program printed of the last run

    def run(self, seconds):
        self.last = seen = self.ask("mutate", seconds)
        return Figures(seen["calls"], seen["seconds"], seen["p50_us"], seen["p99_us"],
                       seen["p999_us"], client_cpu_s=seen["client_cpu_seconds"])


# --- Go ---------------------------------------------------------------------------------------------


def build_go(workshop):
    """tests/bench/gateway_go, with the module as anyone gets it; Missing where it cannot be had."""
    if not shutil.which("go"):
        raise Missing("go is not installed")
    program = workshop.root / "build/release/tests/bench/gateway_go"
    process = subprocess.Popen(["go", "build", "-o", str(program), "."], cwd=GO_SOURCE, text=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, preexec_fn=die_with_parent,
                               env={**os.environ, "GOTOOLCHAIN": "local"})
    workshop.processes.append(process)
    try:
        output, _ = process.communicate(timeout=GO_BUILD_SECONDS)
    except subprocess.TimeoutExpired:
        raise Missing(f"go build took more than {GO_BUILD_SECONDS} s") from None
    if process.returncode != 0:
        raise Missing(f"the Go client cannot be had: {output.strip()[-300:]}")
    return str(program)


class Emulator:
    """Google's, in memory, from the module of their Go client."""

    def __init__(self, workshop, program):
        self.address = f"127.0.0.1:{workshop.port()}"
        log = workshop.folder / "emulator.log"
        self.process = workshop.start([program, "serve", self.address], log.name)
        wait_until(lambda: self.process.poll() is not None or "READY" in log.read_text(), 30,
                   "the emulator starts")
        if self.process.poll() is not None:
            raise Failure(f"the emulator did not start: {log.read_text().strip()[-300:]}")


class GoLoad:
    """The official Go client against the gateway or the emulator; what it reads is checked."""

    def __init__(self, workshop, program, server, rows, value_bytes, in_flight):
        self.workshop = workshop
        self.program = program
        self.server = server
        self.options = {"table": TABLE, "rows": rows, "value-bytes": value_bytes,
                        "in-flight": in_flight}

    def ask(self, what, seconds=0):
        """What the program printed."""
        arguments = ["env", f"BIGTABLE_EMULATOR_HOST={self.server.address}", self.program, "load"]
        for option, value in {**self.options, "seconds": f"{seconds:g}"}.items():
            arguments += ["-" + option, str(value)]
        seen = json.loads(self.workshop.run(arguments + [what]))
        if seen["rows" if what == "scan" else "calls"] == 0:
            raise Failure(f"{what} over the Go client: nothing was done")
        return seen

    def fill(self):
        """Makes the table, too."""
        return self.ask("fill")


    def run(self, seconds):
        """Writes, in the form that write windows ask for."""
        seen = self.ask("write", seconds)
        return Figures(seen["calls"], seen["seconds"], 0, 0, 0, client_cpu_s=seen["client_cpu_s"])
