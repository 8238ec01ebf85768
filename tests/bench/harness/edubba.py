"""Our side: a master and one tablet server with one store, as a user would start them."""
import json
import os
import pathlib
import signal
import subprocess
import time
import urllib.request

from .confine import Confinement
from .process import Failure, wait_until

MEMORY_LIMIT = "512 MiB"
STATUS_AGE_S = 0.5         # /status is younger than that
DRAIN_LEAST_BYTES = 65536  # the smallest memtable_limit that the server takes


class Cluster:
    """Started when made.  `settings` are the tablet server's, besides those that every record has."""

    def __init__(self, workshop, settings=None, master_settings=None, quick=False):
        self.workshop = workshop
        self.folder = workshop.folder / f"edubba{len(list(workshop.folder.glob('edubba*')))}"
        self.folder.mkdir()
        self.settings = {"memory_limit": MEMORY_LIMIT, **(settings or {})}
        self.master_settings = master_settings or {}
        if quick:  # what takes room for nothing in a run of a second
            self.settings = {"log_segment": "4 MiB", "ballast": "1 MiB", **self.settings}
        self.master_port, self.port, self.http_port = (workshop.port() for _ in range(3))
        self.masters = f"tcp://127.0.0.1:{self.master_port}"
        self.server = None
        self.master = self.launch("master", "master/edubba-master", {
            "folder": self.folder / "master", "address": self.masters,
            "http.address": f"127.0.0.1:{workshop.port()}", **self.master_settings})
        self.start_server()
        wait_until(lambda: '"alive":true' in self.ebt("--json", "servers").replace(" ", ""), 10,
                   "the tablet server joins")

    def launch(self, name, program, settings):
        """A daemon of ours, and its READY."""
        ready_read, ready_write = os.pipe()
        arguments = [self.workshop.program(program), "--ready-fd", str(ready_write)]
        for key, value in settings.items():
            arguments += ["--set", f"{key}={value}"]
        process = self.workshop.start(arguments, f"{self.folder.name}-{name}.log",
                                      pass_fds=(ready_write,))
        os.close(ready_write)
        with os.fdopen(ready_read) as ready:  # a daemon that ends closes it too
            if not ready.readline().startswith("READY"):
                log = (self.workshop.folder / f"{self.folder.name}-{name}.log").read_text()
                raise Failure(f"{name} did not start: {log.strip()[-300:]}")
        return process

    def start_server(self, **more):
        """Returns the seconds until it said READY."""
        begin = time.monotonic()
        self.server = self.launch("server", "tabletserver/edubba-tabletserver", {
            "folder": self.folder / "server", "address": f"tcp://127.0.0.1:{self.port}",
            "http.address": f"127.0.0.1:{self.http_port}", "masters": self.masters,
            **self.settings, **more})
        return time.monotonic() - begin

    def stop_server(self, how=signal.SIGTERM):
        self.workshop.stop(self.server, how)

    def close(self):
        """Stops both and removes their data: the next record begins on an empty disk."""
        self.stop_server()
        self.workshop.stop(self.master)
        if not self.workshop.keep:
            subprocess.run(["rm", "-rf", str(self.folder)], check=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # --- asking ---------------------------------------------------------------------------------

    def ebt(self, *arguments):
        return self.workshop.run([self.workshop.program("client/cli/ebt"), "--masters",
                                  self.masters, *arguments], 600)

    def create_table(self, table, families):
        self.ebt("createtable", table, f"families={families}")

    def _http(self, path, port=None):
        with urllib.request.urlopen(f"http://127.0.0.1:{port or self.http_port}{path}",
                                    timeout=60) as answer:
            return answer.read().decode()

    def status(self, port=None):
        return json.loads(self._http("/status", port))

    def store(self, port=None):
        return self.status(port)["stores"][0]

    def metric(self, name):
        """The sum of a metric's series."""
        values = [float(line.rsplit(" ", 1)[1]) for line in self._http("/metrics").splitlines()
                  if line.split("{")[0].split(" ")[0] == name]
        if not values:
            raise Failure(f"the tablet server has no metric {name}")
        return sum(values)

    def flushes(self):
        """Memtables flushed to the end since the server started."""
        return int(self.metric("edubba_flushes_total"))

    def anonymous_bytes(self):
        """Memory of the tablet server that is not a mapped file."""
        status = pathlib.Path(f"/proc/{self.server.pid}/status").read_text()
        return next(int(line.split()[1]) * 1024 for line in status.splitlines()
                    if line.startswith("RssAnon:"))

    def disk_bytes(self):
        """Allocated by the stores, the log and its spare segments and the ballast apart."""
        total = 0
        for path in (self.folder / "server").rglob("*"):
            if path.is_file() and path.name.startswith("data.mdb"):
                total += path.stat().st_blocks * 512
        return total

    # --- quiet ----------------------------------------------------------------------------------

    def settle(self, seconds=600, port=None):
        """Until nothing is being flushed: the peer is measured next, and must have the disk alone."""
        seen = None

        def quiet():
            nonlocal seen
            store = self.store(port)
            same, seen = store["flush_bytes"] == seen, store["flush_bytes"]
            return same and store["flushes_pending"] == 0

        wait_until(quiet, seconds, "flushing ends", pause=STATUS_AGE_S)

    def flush(self):
        """
        Everything into the base, but for a small rest.  There is no request for it, so the server
        is stopped and recovers with a memtable_limit just below its smallest memtable of weight:
        each is full at the end of its replay, freezes and is flushed as one piece, as it would have
        been a little later.
        """
        self.settle()
        memtables = [t["memtable_bytes"] for t in self.status()["tablets"]]
        heavy = [b for b in memtables if b > 2 * DRAIN_LEAST_BYTES]
        if not heavy:
            return
        limit = max(int(0.9 * min(b for b in heavy if b >= max(heavy) / 8)), DRAIN_LEAST_BYTES)
        self.stop_server()
        self.start_server(memtable_limit=limit)
        wait_until(lambda: self.store()["memory_bytes"] < max(0.3 * sum(memtables), 2 * limit),
                   600, "memtables drain", pause=0.1)
        self.settle()
        self.stop_server()
        self.start_server()
        self.wait_serving()

    def wait_serving(self, seconds=60):
        """Until the server holds its tablets and the master knows."""
        wait_until(lambda: self.status()["master_connected"], seconds, "the server meets its master")


class ServersCluster(Cluster):
    """The same with so many tablet servers on this machine, which replicate: tablets can be moved."""

    def __init__(self, workshop, servers, settings=None, master_settings=None, quick=False,
                 share=None):
        """`share`: of a processor, that each of them is confined to."""
        self.others = []  # (process, port of its status)
        self.confinement = Confinement(share) if share else None
        super().__init__(workshop, {"replicate": "true", **(settings or {})}, master_settings, quick)
        for number in range(2, servers + 1):
            port, http_port = workshop.port(), workshop.port()
            self.others.append((self.launch(f"server{number}", "tabletserver/edubba-tabletserver", {
                "folder": self.folder / f"server{number}", "address": f"tcp://127.0.0.1:{port}",
                "http.address": f"127.0.0.1:{http_port}", "masters": self.masters,
                **self.settings}), http_port))
        wait_until(lambda: len(self.lines("servers")) == servers, 20, "the tablet servers join")
        for process in [self.server, *(process for process, _ in self.others)] if share else []:
            self.confinement.add(process.pid)

    def lines(self, *words):
        """What ebt tells, an object a line."""
        return [json.loads(line) for line in self.ebt("--json", *words).splitlines()]

    def settle(self, seconds=600, port=None):
        for each in [self.http_port, *(port for _, port in self.others)]:
            super().settle(seconds, each)

    def close(self):
        if self.confinement:
            self.confinement.close()
        for process, _ in self.others:
            self.workshop.stop(process)
        super().close()


class CopiesCluster(ServersCluster):
    """
    As many tablet servers as there are copies of each tablet, so each has one of all.  Nothing is split or moved:
    beside one server it would be, where that has nowhere to go, and more would differ than the copies.
    """

    def __init__(self, workshop, copies, master_settings=None, quick=False):
        self.copies = copies
        super().__init__(workshop, copies, master_settings={
            "replication.replicas": copies, "replication.min_in_sync": copies - 1,
            "balance.enabled": "false", **(master_settings or {})}, quick=quick)

    def wait_whole(self, table):
        """Until every tablet has all its copies, in sync."""
        wait_until(lambda: all(t["in_sync"] == self.copies for t in self.lines("tablets", table)),
                   120, "all copies are in sync")
