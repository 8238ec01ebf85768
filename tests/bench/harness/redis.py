"""The peer of most records: Redis from Debian, every write synced, rewriting its log as it does by
default, driven by redis-benchmark."""
import csv
import io
import shutil
import socket
import subprocess

from .process import Failure, Missing, wait_until

FIRST_REQUESTS = 20000
FIRST_REQUESTS_QUICK = 200


def server_program():
    """
    Debian's redis-tools holds the server too, under the name of redis-check-rdb: the program goes
    by what it is called as.  So ./check needs not install a service that would start by itself.
    """
    server = shutil.which("redis-server") or shutil.which("redis-check-rdb")
    if not server or not shutil.which("redis-benchmark"):
        raise Missing("redis is not installed (deploy/packages test)")
    return server


class Redis:
    def __init__(self, workshop):
        program = server_program()
        self.workshop = workshop
        self.folder = workshop.folder / f"redis{len(list(workshop.folder.glob('redis*')))}"
        self.folder.mkdir()
        self.port = workshop.port()
        self.rates = {}
        self.process = workshop.start(
            ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--daemonize", "no",
             "--dir", str(self.folder), "--appendonly", "yes", "--appendfsync", "always",
             "--save", ""], f"{self.folder.name}.log", executable=program)
        wait_until(self._answers, 30, "redis starts")

    def _answers(self):
        if self.process.poll() is not None:
            raise Failure("redis-server did not start")
        try:
            return b"PONG" in self.ask("PING")
        except OSError:
            return False

    def close(self):
        self.workshop.stop(self.process)
        if not self.workshop.keep:
            subprocess.run(["rm", "-rf", str(self.folder)], check=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def ask(self, *words):
        """One command; its answer as bytes, short ones only."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as connection:
            connection.sendall(self._command(words))
            return connection.recv(65536)

    @staticmethod
    def _command(words):
        parts = [w if isinstance(w, bytes) else str(w).encode() for w in words]
        return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts)

    def fill(self, rows, value_bytes):
        """Every key that redis-benchmark -r asks for, so that a GET always finds one."""
        value = b"x" * value_bytes
        with socket.create_connection(("127.0.0.1", self.port), timeout=600) as connection:
            answers = connection.makefile("rb")
            for first in range(0, rows, 1000):
                count = min(1000, rows - first)
                connection.sendall(b"".join(
                    self._command(("SET", b"key:%012d" % n, value))
                    for n in range(first, first + count)))
                for _ in range(count):
                    if answers.readline() != b"+OK\r\n":
                        raise Failure("redis refused a SET")
        if int(self.ask("DBSIZE").strip(b":\r\n")) != rows:
            raise Failure("redis does not hold all keys")

    def persistence(self):
        """INFO persistence, by name."""
        text = self.ask("INFO", "persistence").decode()
        return dict(line.split(":", 1) for line in text.splitlines() if ":" in line)

    def rewrites(self):
        """How often the log was rewritten to the end since the server started."""
        info = self.persistence()
        if info["aof_last_bgrewrite_status"] != "ok":
            raise Failure("redis could not rewrite its log")
        return int(info["aof_rewrites"]) - int(info["aof_rewrite_in_progress"])

    def settle(self):
        """Until no log is being rewritten: ours is measured next."""
        def quiet():
            info = self.persistence()
            return info["aof_rewrite_in_progress"] == info["aof_rewrite_scheduled"] == "0"

        wait_until(quiet, 600, "redis has rewritten its log", pause=0.2)

    def _benchmark(self, test, requests, clients, value_bytes, keys, pipeline):
        arguments = ["redis-benchmark", "-h", "127.0.0.1", "-p", str(self.port), "-t", test,
                     "-n", str(requests), "-c", str(clients), "-d", str(value_bytes),
                     "-P", str(pipeline), "--csv", "--precision", "3"]
        if keys > 0:
            arguments += ["-r", str(keys)]
        rows = list(csv.DictReader(io.StringIO(self.workshop.run(arguments))))
        if len(rows) != 1:
            raise Failure("redis-benchmark printed no result")
        return {"per_second": float(rows[0]["rps"]),
                "p50_us": float(rows[0]["p50_latency_ms"]) * 1000,
                "p99_us": float(rows[0]["p99_latency_ms"]) * 1000}

    def benchmark(self, test, seconds, clients=50, value_bytes=1000, keys=1000000, pipeline=1,
                  requests=0):
        """For about so many seconds (it counts requests, so a short run tells how many), or exactly
        so many requests."""
        shape = (test, clients, value_bytes, keys, pipeline)
        if requests == 0:
            if shape not in self.rates:
                first = FIRST_REQUESTS if seconds >= 1 else FIRST_REQUESTS_QUICK
                self.rates[shape] = self._benchmark(test, first, *shape[1:])["per_second"]
            requests = max(int(self.rates[shape] * seconds), clients)
        result = {"requests": requests, **self._benchmark(test, requests, *shape[1:])}
        self.rates[shape] = result["per_second"]
        return result
