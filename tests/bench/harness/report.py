"""What a person sees: progress, the table, build/bench.json, and the table of docs/performance.md."""
import json
import os
import shutil
import sys
import threading
import time

from .measure import AT_MOST

MARKS = {True: "met", False: "MISSED", None: "not judged"}
BEGIN_MARK = "<!-- figures: begin (tests/bench/run --markdown) -->"
END_MARK = "<!-- figures: end -->"


class Progress:
    """One line, its clock running, on a terminal; a line a step elsewhere."""

    def __init__(self, quiet=False):
        self.terminal = sys.stderr.isatty()
        self.quiet = quiet
        self.begun = time.monotonic()
        self.text = ""
        self.where = ""
        self.width = 0
        self.lock = threading.Lock()
        if self.terminal:
            threading.Thread(target=self._tick, daemon=True).start()

    def _tick(self):
        while True:
            time.sleep(1)
            with self.lock:
                if self.text:
                    self._draw()

    def _line(self):
        passed = int(time.monotonic() - self.begun)
        return f"[{passed // 60:3d}:{passed % 60:02d}] {self.where}{self.text}"

    def _draw(self):
        line = self._line()[:shutil.get_terminal_size().columns - 1]
        print("\r" + line.ljust(self.width), end="", file=sys.stderr, flush=True)
        self.width = len(line)

    def at(self, index, count):
        """Which of the records is measured."""
        self.where = f"{index} of {count}  "

    def say(self, text):
        with self.lock:
            if text == self.text:
                return
            self.text = text
            if self.terminal:
                self._draw()
            elif not self.quiet:
                print(self._line(), file=sys.stderr, flush=True)

    def clear(self):
        with self.lock:
            if self.terminal and self.width > 0:
                print("\r" + " " * self.width + "\r", end="", file=sys.stderr, flush=True)
            self.text, self.width = "", 0


def number(value, unit=""):
    if value is None:
        return "-"
    if unit == "bytes":
        return f"{value / 2**20:.0f} MiB"
    if abs(value) >= 1000:
        return f"{value:,.0f}".replace(",", " ")
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def target_text(result):
    sense = "<=" if result["sense"] == AT_MOST else ">="
    unit = "" if result["peer"] else result["unit"]
    return f"{sense} {number(result['target'], unit)}"


def span(values, unit=""):
    return f"{number(values[0], unit)}..{number(values[1], unit)}" if values else ""


def row(result):
    spread = result["spread"]
    ratio = "" if result["ratio"] is None else f"{result['ratio']:.2f}"
    around = spread.get("ratio")
    return [result["name"], number(result["ours"], result["unit"]),
            number(result["peer_value"], result["unit"]), result["unit"], ratio,
            f"{around[0]:.2f}..{around[1]:.2f}" if around else span(spread.get("ours"),
                                                                    result["unit"]),
            target_text(result), MARKS[result["met"]]]


HEADS = ["record", "ours", "peer", "unit", "ratio", "spread", "target", ""]


def table(results):
    lines = [HEADS] + [row(r) for r in results]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEADS))]
    right = {1, 2, 4}
    return "\n".join(
        "  ".join(text.rjust(w) if i in right else text.ljust(w)
                  for i, (text, w) in enumerate(zip(line, widths))).rstrip() for line in lines)


def remarks(result):
    return ([f"broken: {t}" for t in result["broken"]]
            + ([f"not judged: {', '.join(result['unfit'])}"] if result["unfit"] else [])
            + result["notes"])


def write_json(path, document):
    """Whole or not at all: a run may be interrupted."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(document, indent=1) + "\n")
    os.replace(temporary, path)


def merged(old, new):
    """The records of this run, and those of earlier ones that it did not repeat."""
    names = {r["name"] for r in new}
    return [r for r in old if r["name"] not in names] + new


MARKDOWN_HEADS = ["record", "ours", "peer", "unit", "ratio", "spread", "target", "", "measured"]


def markdown_line(result):
    """The build is part of the figure: the table holds those of several runs."""
    build = f" `{result['commit']}`" if result.get("commit") else ""
    return "| " + " | ".join([f"`{result['name']}`"] + row(result)[1:]
                             + [result.get("when", "")[:10] + build]) + " |"


def name_of_line(line):
    parts = line.split("`")
    return parts[1] if line.startswith("| `") and len(parts) > 2 else None


def markdown(document, old_lines):
    """The table with these records in it; what they do not repeat stays as it is."""
    fresh = {r["name"]: markdown_line(r) for r in document["records"]}
    kept = [line for line in old_lines if name_of_line(line)]
    lines = ["| " + " | ".join(MARKDOWN_HEADS) + " |", "|---|---:|---:|---|---:|---|---|---|---|"]
    lines += [fresh.pop(name_of_line(line), line) for line in kept]
    lines += fresh.values()
    machine = document["machine"]
    lines += ["", f"The newest on {machine['cores']} cores ({machine['cpu']}), "
                  f"{machine['memory_gib']} GiB, {machine['system']}; "
                  f"{machine['busy_percent']:.0f} % busy with other things before."]
    return "\n".join(lines)


def fill_markdown(path, document):
    """Puts the records into the table between the marks of docs/performance.md."""
    text = path.read_text()
    head, rest = text.split(BEGIN_MARK)
    old, tail = rest.split(END_MARK)
    path.write_text(f"{head}{BEGIN_MARK}\n{markdown(document, old.splitlines())}\n{END_MARK}{tail}")
