"""Processes of ours: started here, ended here by their pid, and nothing else is ever ended."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

from .ports import Ports

SECTOR_BYTES = 512  # of /sys/block/*/stat, whatever the disk's are
# Said in full: a build that ./quickstart made first is without tests, and stays so.
BUILD = "cmake --preset release -DEDUBBA_TESTS=ON && cmake --build build/release"


class Failure(Exception):
    """Something that makes a record impossible, in a sentence for a person."""


class Missing(Failure):
    """A program that is not installed or not built: the record is skipped by name."""


def die_with_parent():
    """
    In the child: own process group (Ctrl-C is for us alone), and no life without us.  Not a session of
    its own: Linux shares processors out among sessions (sched_autogroup), and by that alone programs
    of several threads that talk to each other lose a sixth (docs/performance.md, The rules).
    """
    import ctypes
    os.setpgid(0, 0)
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Workshop:
    """A temporary folder, ports, and every process that runs in it."""

    def __init__(self, root, keep=False):
        self.root = pathlib.Path(root)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="edubba-bench-"))
        self.keep = keep
        self.ports = Ports()
        self.processes = []

    def close(self):
        """A second Ctrl-C must not leave anything behind."""
        before = {number: signal.signal(number, signal.SIG_IGN)
                  for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            self._end_all()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _end_all(self):
        for process in reversed(self.processes):
            if process.poll() is None:
                process.kill()
            process.wait()
        self.processes.clear()
        self.ports.close()
        if self.keep:
            print(f"kept: {self.folder}")
        else:
            shutil.rmtree(self.folder, ignore_errors=True)

    @staticmethod
    def disk_written_bytes():
        """By everybody, to all disks, since the system started."""
        stats = [path / "stat" for path in pathlib.Path("/sys/block").iterdir()
                 if (path / "device").exists()]
        return sum(int(stat.read_text().split()[6]) * SECTOR_BYTES for stat in stats)

    def port(self):
        """A free one that no other test has."""
        return self.ports.next()

    def program(self, path):
        """A program of the build, by its path there."""
        found = self.root / "build/release" / path
        if not found.exists():
            raise Missing(f"{found} is missing: {BUILD}")
        return str(found)

    def start(self, arguments, log, **options):
        """In the background; its output goes to `log` in the folder."""
        with open(self.folder / log, "ab") as output:
            process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=output,
                                       stderr=output, preexec_fn=die_with_parent, **options)
        self.processes.append(process)
        return process

    def stop(self, process, how=signal.SIGTERM, seconds=60):
        """By its pid; one that does not end in time is killed."""
        if process.poll() is None:
            process.send_signal(how)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process in self.processes:
            self.processes.remove(process)

    def run_for_status(self, arguments, seconds=7200):
        """To its end; returns its exit status, what it wrote to stdout, and to stderr."""
        process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, preexec_fn=die_with_parent, text=True)
        self.processes.append(process)
        try:
            output, errors = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise Failure(f"{os.path.basename(arguments[0])} did not end within {seconds} s"
                          ) from None
        finally:
            if process.poll() is None:
                process.kill()
                process.communicate()
            self.processes.remove(process)
        return process.returncode, output, errors

    def run(self, arguments, seconds=7200):
        """To its good end; returns what it wrote to stdout."""
        status, output, errors = self.run_for_status(arguments, seconds)
        if status != 0:
            said = (errors.strip() or output.strip())[-400:]
            raise Failure(f"{os.path.basename(arguments[0])} ended with {status}: {said}")
        return output

    def raw(self, name, **options):
        """A program of tests/bench/raw; options as in its usage, _ for -."""
        arguments = [self.program(f"tests/bench/raw/raw_{name}")]
        if name not in ("nng_echo", "grpc_echo"):
            options["folder"] = self.folder
        for option, value in options.items():
            arguments += ["--" + option.replace("_", "-"), str(value)]
        return json.loads(self.run(arguments))


def wait_until(condition, seconds, what, pause=0.02):
    """Until condition() is true; a Failure after so long."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise Failure(f"{what}: not within {seconds} s")
        time.sleep(pause)
