"""Our side's load: edubba-load, its options and its figures."""
import dataclasses
import json
import signal
import subprocess

from .process import Failure, die_with_parent

TABLE = "LOAD"


@dataclasses.dataclass
class Figures:
    """What one run, or several one after the other, came to."""
    rows: int
    seconds: float
    p50_us: float
    p99_us: float
    p999_us: float
    errors: int = 0
    parts: int = 1

    @property
    def per_second(self):
        return self.rows / self.seconds if self.seconds > 0 else 0.0

    def with_more(self, other):
        """Percentiles of parts cannot be joined: the mean of the middle, the worst of the tails."""
        parts = self.parts + other.parts
        return Figures(self.rows + other.rows, self.seconds + other.seconds,
                       (self.p50_us * self.parts + other.p50_us * other.parts) / parts,
                       max(self.p99_us, other.p99_us), max(self.p999_us, other.p999_us),
                       self.errors + other.errors, parts)


class Load:
    """
    A workload with its options; run() may be called again and again.  Everything that is read is
    checked (--verify): a row that is missing or wrong fails the record.
    """

    def __init__(self, workshop, cluster, workload, options):
        self.workshop = workshop
        self.cluster = cluster
        self.workload = workload
        self.options = dict(options)

    def _arguments(self, words, options):
        arguments = [self.workshop.program("client/load/edubba-load"), *words,
                     "--masters", self.cluster.masters, "--table", TABLE,
                     "--format", "json", "--quiet"]
        for option, value in options.items():
            arguments.append("--" + option.replace("_", "-"))
            if value is not True:
                arguments.append(str(value))
        return arguments

    def _shape(self):
        """What the rows look like; the rest of the options says how they are asked for."""
        return {key: self.options[key]
                for key in ("records", "fields", "value_size", "keys", "hosts")
                if key in self.options}

    def fill(self):
        """The load phase: every row once."""
        output = self.workshop.run(self._arguments(["load", self.workload], self._shape()))
        return figures_of(output)

    def run(self, seconds=None, **more):
        """For so many seconds, or as many operations as the options say."""
        options = {"verify": True, **self.options, **more}
        if seconds is not None:
            options["duration"] = f"{seconds:g}"
        return figures_of(self.workshop.run(self._arguments([self.workload], options)))

    def start(self, seconds):
        """In the background; finish() ends it and gives its figures."""
        options = {"verify": True, **self.options, "duration": f"{seconds:g}"}
        process = subprocess.Popen(self._arguments([self.workload], options),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, preexec_fn=die_with_parent)
        self.workshop.processes.append(process)
        return process

    def finish(self, process):
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=120)
        self.workshop.processes.remove(process)
        if process.returncode not in (0, 130):
            raise Failure(f"edubba-load ended with {process.returncode}: {errors.strip()[-300:]}")
        return figures_of(output)


def figures_of(output):
    """From the last line of JSON that edubba-load wrote."""
    document = json.loads(output)
    total = document["total"]
    latency = total["latency_us"]
    return Figures(total["rows"], document["seconds"], latency["p50"], latency["p99"],
                   latency["p99.9"], total.get("errors", 0))
