"""Our side's load: edubba-load, its options and its figures."""
import dataclasses
import json
import signal
import subprocess

from .process import Failure, die_with_parent

TABLE = "LOAD"
FILL_BATCH_ROWS = 100


@dataclasses.dataclass
class Figures:
    """What one run, or several one after the other, came to."""
    rows: int
    seconds: float
    p50_us: float
    p99_us: float
    p999_us: float
    errors: int = 0
    client_cpu_s: float = 0.0
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
                       self.errors + other.errors, self.client_cpu_s + other.client_cpu_s, parts)


class Load:
    """
    A workload with its options; run() may be called again and again.  Everything that is read is
    checked (--verify), and no operation may fail unless the record says so.
    """

    def __init__(self, workshop, cluster, workload, options, may_fail=False):
        self.workshop = workshop
        self.cluster = cluster
        self.workload = workload
        self.options = dict(options)
        self.may_fail = may_fail

    def _arguments(self, words, options):
        arguments = [self.workshop.program("client/load/edubba-load"), *words,
                     "--masters", self.cluster.masters, "--table", TABLE,
                     "--format", "json", "--quiet"]
        for option, value in options.items():
            if value is False:
                continue
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
        """Every row once, for whatever workload, in large requests."""
        tablets = {key: self.options[key] for key in ("presplit",) if key in self.options}
        return self._figures(self.workshop.run_for_status(self._arguments(["write"], {
            **self._shape(), **tablets, "batch": FILL_BATCH_ROWS, "distribution": "sequential",
            "operations": self.options["records"]})))

    def read_all(self):
        """Every row once, not measured: after it the server has mapped what a reader may ask for."""
        self._figures(self.workshop.run_for_status(self._arguments(["run", "scan"], {
            "verify": True, **self._shape()})))

    def _words(self):
        """What needs no rows makes its table; nothing else may."""
        return [self.workload] if self.workload in ("write", "add") else ["run", self.workload]

    def _options(self, seconds, more):
        options = {"verify": True, **self.options, **more}
        if seconds is not None:
            options["duration"] = f"{seconds:g}"
        return options

    def run(self, seconds=None, **more):
        """For so many seconds, or as many operations as the options say."""
        return self._figures(self.workshop.run_for_status(
            self._arguments(self._words(), self._options(seconds, more))))

    def intervals(self, seconds, interval=1, **more):
        """Rows a second in each interval, beside the whole run's figures."""
        status, output, errors = self.workshop.run_for_status(self._arguments(
            self._words(), self._options(seconds, {**more, "interval": f"{interval:g}"})))
        documents = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
        parts = [document for document in documents if "interval" in document]
        whole = [document for document in documents if "interval" not in document]
        return parts, self._figures((status, json.dumps(whole[-1]) if whole else output, errors))

    def start(self, seconds):
        """In the background; finish() ends it and gives its figures."""
        process = subprocess.Popen(
            self._arguments(self._words(), self._options(seconds, {})),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            preexec_fn=die_with_parent)
        self.workshop.processes.append(process)
        return process

    def finish(self, process):
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=120)
        self.workshop.processes.remove(process)
        return self._figures((process.returncode, output, errors))

    def _figures(self, ended):
        """From the JSON of the run; a Failure where a row was wrong, or an operation failed."""
        status, output, errors = ended
        try:
            document = json.loads(output)
        except ValueError:
            raise Failure(f"edubba-load ended with {status}: {errors.strip()[-300:]}") from None
        verify = document.get("verify", {"good": True})
        if not verify["good"]:
            raise Failure(f"{self.workload}: what was read is wrong: {json.dumps(verify)} "
                          f"{errors.strip()[-300:]}")
        if document["errors"] and not self.may_fail:
            raise Failure(f"{self.workload}: {document['errors']} operations failed, the first: "
                          f"{document['first_error']}")
        kind = max(document["kinds"].values(), key=lambda k: k["requests"], default=None)
        if not kind or kind["rows"] == 0:
            raise Failure(f"{self.workload}: nothing was done: {document['first_error']}")
        return Figures(document["rows"], document["seconds"], kind["p50_us"], kind["p99_us"],
                       kind["p999_us"], document["errors"], document["client_cpu_s"])
