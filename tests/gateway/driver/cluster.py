"""The cluster of a test: one master, tablet servers, one gateway, on ports and in a folder of its own.

Processes, ports and the rule that we end what we started are those of the benchmarks' workshop.
"""
import base64
import json
import os
import pathlib
import sys
import urllib.request

from . import notation

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/bench"))

from harness.process import Failure, Missing, Workshop, wait_until  # noqa: E402

SERVER_COUNT = 2
GATEWAY_PROGRAMS = ["gateway/edubba-gateway", "gateway/daemon/edubba-gateway"]


class Shop(Workshop):
    """A workshop whose programs are those of any build folder."""

    def __init__(self, build, keep=False):
        super().__init__(ROOT, keep)
        self.build = pathlib.Path(build)

    def program(self, path):
        found = self.build / path
        if not found.exists():
            raise Missing(f"{found} is missing: it is built by cmake --build {self.build}")
        return str(found)


class Cluster:
    """Started when made; ended by the shop's close()."""

    def __init__(self, shop, gateway_settings=None):
        self.shop = shop
        self.port = shop.port()
        self.http_port = shop.port()
        self.address = f"127.0.0.1:{self.port}"
        self.masters = f"tcp://127.0.0.1:{shop.port()}"
        self._launch("master", shop.program("master/edubba-master"), {
            "folder": shop.folder / "master", "address": self.masters,
            "http.address": f"127.0.0.1:{shop.port()}"})
        self.server_http_ports = [shop.port() for _ in range(SERVER_COUNT)]
        for number, http_port in enumerate(self.server_http_ports, 1):
            self._launch(f"server{number}", shop.program("tabletserver/edubba-tabletserver"), {
                "folder": shop.folder / f"server{number}",
                "address": f"tcp://127.0.0.1:{shop.port()}",
                "http.address": f"127.0.0.1:{http_port}", "masters": self.masters,
                "ballast": 0})
        wait_until(self._have_joined, 120, "the tablet servers join")
        self.gateway = self._launch("gateway", self._gateway_program(), {
            "address": self.address, "http.address": f"127.0.0.1:{self.http_port}",
            "masters": self.masters, **(gateway_settings or {})})

    def _gateway_program(self):
        for path in GATEWAY_PROGRAMS:
            if (self.shop.build / path).exists():
                return self.shop.program(path)
        return self.shop.program(GATEWAY_PROGRAMS[0])

    def _have_joined(self):
        status, output, _ = self.ebt("--json", "servers")
        return status == 0 and output.replace(" ", "").count('"alive":true') >= SERVER_COUNT

    def _launch(self, name, program, settings):
        ready_read, ready_write = os.pipe()
        arguments = [program, "--ready-fd", str(ready_write)]
        for key, value in settings.items():
            arguments += ["--set", f"{key}={value}"]
        process = self.shop.start(arguments, f"{name}.log", pass_fds=(ready_write,))
        os.close(ready_write)
        with os.fdopen(ready_read) as ready:  # a daemon that ends closes it too
            if not ready.readline().startswith("READY"):
                log = (self.shop.folder / f"{name}.log").read_text(errors="replace")
                raise Failure(f"{name} did not start: {log.strip()[-300:]}")
        return process

    def ebt(self, *arguments):
        """Exit status, what it printed, what it said of errors."""
        return self.shop.run_for_status([self.shop.program("client/cli/ebt"), "--masters",
                                         self.masters, *arguments], 120)

    # --- the gateway, seen from outside -----------------------------------------------------------

    def gateway_lives(self):
        return self.gateway.poll() is None

    def memory_bytes(self):
        """Of the gateway: what is not a mapped file."""
        status = pathlib.Path(f"/proc/{self.gateway.pid}/status").read_text()
        return next(int(line.split()[1]) * 1024 for line in status.splitlines()
                    if line.startswith("RssAnon:"))

    def thread_count(self):
        return len(os.listdir(f"/proc/{self.gateway.pid}/task"))

    def metrics(self):
        return self._metrics_at(self.http_port)

    def scanned_bytes(self):
        """What all tablet servers have given to scans."""
        return sum(value for port in self.server_http_ports
                   for series, value in self._metrics_at(port).items()
                   if series.startswith("edubba_scan_bytes_total"))

    @staticmethod
    def _metrics_at(port):
        """Every series by its whole name with labels."""
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
            lines = answer.read().decode().splitlines()
        return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1])
                for line in lines if line and not line.startswith("#")}


class Elsewhere:
    """A gateway or emulator that somebody else runs: there is no ebt that reads its cluster."""

    def __init__(self, address):
        self.address = address
        self.masters = None


def rows_of_ebt(output):
    """What `ebt --json read` printed, as results of runners are, and the numbers that it shows."""
    def data(holder, name):
        if name in holder:
            return holder[name].encode()
        return base64.b64decode(holder[name + "_base64"])

    rows = []
    for line in output.splitlines():
        row = json.loads(line)
        cells = []
        for cell in row["cells"]:
            labels = [[data(cell, "label").decode()]] if "label" in cell or \
                "label_base64" in cell else []
            made = [data(cell, "family").decode(), notation.show(data(cell, "column")),
                    cell["timestamp"], notation.show(data(cell, "value")), *labels]
            cells.append((made, cell.get("number")))
        rows.append((notation.show(data(row, "key")), cells))
    return rows


def plain_rows(rows):
    """Of rows_of_ebt(): as results of runners are."""
    return [{"row": key, "cells": [cell for cell, _ in cells]} for key, cells in rows]


def numbered_rows(rows):
    """The same with {"number": n} in place of each value that ebt shows as a number."""
    return [{"row": key, "cells": [[*cell[:3], {"number": number}, *cell[4:]]
                                   if number is not None else cell for cell, number in cells]}
            for key, cells in rows]
