"""What a record is, and how its pairs become one figure that is judged."""
import dataclasses
import statistics
import time

AT_LEAST = "at least"
AT_MOST = "at most"

WRITE_SECONDS_LEAST = 60
FLUSHES_LEAST = 5
PAIRS_LEAST = 5


@dataclasses.dataclass
class Result:
    """One line of the table."""
    name: str
    unit: str            # of ours and peer
    ours_what: str
    peer_what: str       # "" when the target is a plain number
    target: float        # of the ratio, or of ours where there is no peer
    sense: str = AT_LEAST
    pairs: list = dataclasses.field(default_factory=list)  # (ours, peer or None), one a turn
    notes: list = dataclasses.field(default_factory=list)  # what else was seen
    unfit: list = dataclasses.field(default_factory=list)  # why it is not judged
    broken: list = dataclasses.field(default_factory=list)  # what was wrong: never met
    details: dict = dataclasses.field(default_factory=dict)

    def ours(self):
        return statistics.median(pair[0] for pair in self.pairs)

    def peer(self):
        return statistics.median(pair[1] for pair in self.pairs) if self.peer_what else None

    def ratios(self):
        """Of each pair by itself: both halves of it met the same machine."""
        return [ours / peer if peer else float("inf") for ours, peer in self.pairs]

    def judged_value(self):
        return statistics.median(self.ratios()) if self.peer_what else self.ours()

    def met(self):
        """True, False, or None where the run was too short to say."""
        if self.broken or not self.pairs:
            return False
        if self.unfit:
            return None
        value = self.judged_value()
        return value >= self.target if self.sense == AT_LEAST else value <= self.target

    def as_json(self):
        spread = {}
        if self.pairs:
            spread["ours"] = [min(p[0] for p in self.pairs), max(p[0] for p in self.pairs)]
        if self.pairs and self.peer_what:
            spread["peer"] = [min(p[1] for p in self.pairs), max(p[1] for p in self.pairs)]
            spread["ratio"] = [min(self.ratios()), max(self.ratios())]
        return {"name": self.name, "unit": self.unit,
                "ours": self.ours() if self.pairs else None, "ours_what": self.ours_what,
                "peer": self.peer_what or None,
                "peer_value": self.peer() if self.pairs else None,
                "ratio": self.judged_value() if self.pairs and self.peer_what else None,
                "target": self.target, "sense": self.sense, "spread": spread, "met": self.met(),
                "pairs": self.pairs, "notes": self.notes, "unfit": self.unfit,
                "broken": self.broken, **self.details}


class Plan:
    """How long and how large: what the command line asks for."""

    def __init__(self, quick=False, pairs=None, seconds=None, scale=None):
        self.quick = quick
        self.pairs = pairs or (1 if quick else PAIRS_LEAST)
        self.seconds_asked = seconds
        self.scale = scale if scale is not None else (0.001 if quick else 1.0)

    def seconds(self, usual):
        """Of one measurement."""
        if self.seconds_asked:
            return self.seconds_asked
        return 0.5 if self.quick else usual

    def rows(self, whole, least=1000):
        return max(int(whole * self.scale), least)

    def unfit(self, write=False, paired=True):
        """Why a result under this plan is not judged; empty when it is."""
        reasons = []
        if self.quick:
            return ["--quick"]
        if paired and self.pairs < PAIRS_LEAST:
            reasons.append(f"{self.pairs} pairs, not {PAIRS_LEAST}")
        if self.scale < 1:
            reasons.append(f"{self.scale:g} of the data")
        if write and self.seconds(WRITE_SECONDS_LEAST) < WRITE_SECONDS_LEAST:
            reasons.append(f"{self.seconds_asked:g} s, not {WRITE_SECONDS_LEAST}")
        return reasons


class Cpu:
    """How busy all cores were between two looks, and how much of it the hypervisor took."""

    def __init__(self):
        self.last = self._read()

    @staticmethod
    def _read():
        with open("/proc/stat", encoding="ascii") as stat:
            fields = [int(f) for f in stat.readline().split()[1:9]]
        return fields

    def percent(self):
        now = self._read()
        passed = [b - a for a, b in zip(self.last, now)]
        self.last = now
        total = sum(passed) or 1
        return {"busy": 100.0 * (total - passed[3] - passed[4]) / total,
                "steal": 100.0 * passed[7] / total}


def machine_load(seconds=1.0):
    """Before anything of ours runs: percent busy, and by whom."""
    cpu = Cpu()
    before = _process_ticks()
    time.sleep(seconds)
    seen = cpu.percent()
    after = _process_ticks()
    used = sorted(((ticks - before.get(pid, ("", ticks))[1], name)
                   for pid, (name, ticks) in after.items()), reverse=True)
    seen["by"] = [name for ticks, name in used[:4] if ticks > 0]
    return seen


def _process_ticks():
    import glob
    found = {}
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path, encoding="utf-8", errors="replace") as stat:
                text = stat.read()
        except OSError:
            continue  # it has ended
        name = text[text.index("(") + 1:text.rindex(")")]
        fields = text[text.rindex(")") + 2:].split()
        found[path.split("/")[2]] = (name, int(fields[11]) + int(fields[12]))
    return found
