"""The official clients: found, installed into a cache folder of the build tree, and driven.

Each is installed the way its own users do, from its own registry, with a lock file of ours where one
is there, and only once: a stamp says for which sources.  What cannot be had is Missing, by name.
"""
import hashlib
import json
import os
import pathlib
import queue
import shutil
import subprocess
import sys
import threading

from .cluster import Failure, Missing

HERE = pathlib.Path(__file__).resolve().parents[1] / "clients"
INSTALL_SECONDS = 420  # each step: registries that do not answer are clients that cannot be had
STEP_SECONDS = 180


class Client:
    """One client library.  `command()` starts its runner, after install()."""

    name = ""
    programs = []  # must be in the PATH
    sources = []   # the files that the runner is made of
    locks = {}     # our lock file -> what makes it anew, for --lock

    def __init__(self, shop, cache):
        self.shop = shop
        self.folder = pathlib.Path(cache) / self.name

    def find(self):
        for program in self.programs:
            if shutil.which(program) is None:
                raise Missing(f"{program} is not installed")

    def install(self):
        """Into the cache, unless that very thing is there."""
        self.find()
        digest = hashlib.sha256()
        for name in self.sources:
            path = HERE / self.name / name
            digest.update(path.read_bytes() if path.exists() else b"-")
        stamp = self.folder / "stamp"
        if stamp.exists() and stamp.read_text() == digest.hexdigest():
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        stamp.unlink(missing_ok=True)
        for name in self.sources:
            if (HERE / self.name / name).exists():
                shutil.copyfile(HERE / self.name / name, self.folder / name)
        self.build()
        stamp.write_text(digest.hexdigest())

    def build(self):
        raise NotImplementedError

    def lock(self):
        """Copies of the lock files that the installation made, back into the sources."""
        for name in self.locks:
            if (self.folder / name).exists():
                shutil.copyfile(self.folder / name, HERE / self.name / name)

    def has_lock(self, name):
        """Of ours: what an earlier installation left in the cache does not count."""
        return (HERE / self.name / name).exists()

    def run(self, *arguments, **environment):
        """A step of the installation; Missing with the end of what it said when it fails."""
        what = " ".join(str(a) for a in arguments[:3])
        try:
            process = subprocess.run([str(a) for a in arguments], cwd=self.folder, text=True,
                                     stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT, timeout=INSTALL_SECONDS,
                                     env={**os.environ, **environment})
        except subprocess.TimeoutExpired:
            raise Missing(f"{what} took more than {INSTALL_SECONDS} s") from None
        if process.returncode != 0:
            raise Missing(f"{what} failed: {process.stdout.strip()[-300:]}")
        return process.stdout

    def command(self):
        raise NotImplementedError


class Node(Client):
    name = "node"
    programs = ["node", "npm"]
    sources = ["package.json", "package-lock.json", "runner.js", "common.js", "filters.js", "admin.js"]
    locks = {"package-lock.json"}

    def build(self):
        if not self.has_lock("package-lock.json"):
            (self.folder / "package-lock.json").unlink(missing_ok=True)
        verb = "ci" if self.has_lock("package-lock.json") else "install"
        self.run("npm", verb, "--no-audit", "--no-fund", "--loglevel=error")

    def command(self):
        return ["node", str(self.folder / "runner.js")]


class Go(Client):
    name = "go"
    programs = ["go"]
    sources = ["go.mod", "go.sum", "main.go", "data.go", "filters.go", "admin.go"]
    locks = {"go.mod", "go.sum"}

    def build(self):
        if not self.has_lock("go.sum"):
            (self.folder / "go.sum").unlink(missing_ok=True)
            self.run("go", "mod", "tidy", GOTOOLCHAIN="local", GOFLAGS="-mod=mod")
        self.run("go", "build", "-o", "runner", ".", GOTOOLCHAIN="local")

    def command(self):
        return [str(self.folder / "runner")]


class Python(Client):
    name = "python"
    programs = ["python3"]
    sources = ["requirements.txt", "requirements.lock", "runner.py", "notation.py", "filters.py",
               "admin.py"]
    locks = {"requirements.lock"}

    def build(self):
        if not (self.folder / "venv/bin/python").exists():
            self.run(sys.executable, "-m", "venv", "venv")
        wanted = "requirements.lock" if self.has_lock("requirements.lock") else "requirements.txt"
        self.run("venv/bin/python", "-m", "pip", "install", "--quiet",
                 "--disable-pip-version-check", "-r", wanted)
        if wanted != "requirements.lock":
            frozen = self.run("venv/bin/python", "-m", "pip", "freeze")
            (self.folder / "requirements.lock").write_text(frozen)

    def command(self):
        return [str(self.folder / "venv/bin/python"), "-W", "ignore",
                str(self.folder / "runner.py")]


class Java(Client):
    name = "java"
    programs = ["java", "javac", "mvn"]
    sources = ["pom.xml", "Runner.java", "Data.java", "Filter.java", "Admin.java"]

    def build(self):
        self.run("mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=lib",
                 "-DincludeScope=runtime")
        self.run("javac", "-nowarn", "-cp", "lib/*", "-d", "classes",
                 *[name for name in self.sources if name.endswith(".java")])

    def command(self):
        return ["java", "-Xmx2g", "-cp", f"{self.folder}/classes:{self.folder}/lib/*", "Runner"]


class Cbt(Client):
    """The command-line client, where it is installed: the runner calls it step by step."""

    name = "cbt"
    programs = ["cbt"]

    def build(self):
        pass

    def command(self):
        return [sys.executable, str(HERE / "cbt/runner.py")]


CLIENTS = {client.name: client for client in (Node, Go, Python, Java, Cbt)}


class Runner:
    """A runner at work: a step in, a line out."""

    def __init__(self, client, address, project, instance, keep_log):
        environment = {name: value for name, value in os.environ.items()
                       if not name.lower().endswith("_proxy") and name != "GOOGLE_CLOUD_PROJECT"}
        environment.update({"BIGTABLE_EMULATOR_HOST": address, "NO_PROXY": "127.0.0.1",
                            "GRPC_ENABLE_FORK_SUPPORT": "0"})
        self.name = client.name
        self.errors = open(keep_log, "ab")
        self.process = subprocess.Popen(
            [*client.command(), project, instance], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self.errors, env=environment, text=True, bufsize=1, cwd=keep_log.parent)
        client.shop.processes.append(self.process)
        self.shop = client.shop
        self.lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            if line.startswith("{"):  # libraries print to stdout too, now and then
                self.lines.put(line)
        self.lines.put(None)

    def do(self, step):
        """The outcome of a step; Failure when the runner gives none."""
        try:
            self.process.stdin.write(json.dumps(step.given()) + "\n")
            self.process.stdin.flush()
            line = self.lines.get(timeout=STEP_SECONDS)
        except queue.Empty:
            raise Failure(f"no outcome within {STEP_SECONDS} s") from None
        except (BrokenPipeError, OSError):
            line = None
        if line is None:
            raise Failure("the runner has ended")
        try:
            outcome = json.loads(line)
        except ValueError:
            raise Failure(f"the runner printed what is no outcome: {line[:200]}") from None
        if outcome.get("step") != step.name:
            raise Failure(f"the runner answered to {outcome.get('step')!r}")
        return outcome

    def close(self):
        """Its input ends, so it does; one that does not is killed."""
        try:
            self.process.stdin.close()
        except OSError:
            pass
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            pass
        self.shop.stop(self.process)
        self.errors.close()
