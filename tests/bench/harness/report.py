"""What a person sees: progress, the table, build/bench.json, and the table of docs/performance.md."""
import json
import os
import sys
import time

from .measure import AT_MOST

MARKS = {True: "met", False: "MISSED", None: "not judged"}
BEGIN_MARK = "<!-- figures: begin (tests/bench/run --markdown) -->"
END_MARK = "<!-- figures: end -->"


class Progress:
    """One line, rewritten in place on a terminal; a line a step elsewhere."""

    def __init__(self, quiet=False):
        self.terminal = sys.stderr.isatty()
        self.quiet = quiet
        self.begun = time.monotonic()
        self.shown = ""

    def say(self, text):
        passed = int(time.monotonic() - self.begun)
        line = f"[{passed // 60:3d}:{passed % 60:02d}] {text}"
        if self.terminal:
            print("\r" + line[:100].ljust(len(self.shown)), end="", file=sys.stderr, flush=True)
            self.shown = line[:100]
        elif not self.quiet and text != self.shown:
            print(line, file=sys.stderr, flush=True)
            self.shown = text

    def clear(self):
        if self.terminal and self.shown:
            print("\r" + " " * len(self.shown) + "\r", end="", file=sys.stderr, flush=True)
        self.shown = ""


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


def markdown(document):
    lines = ["| record | ours | peer | unit | ratio | spread | target | |",
             "|---|---:|---:|---|---:|---|---|---|"]
    lines += ["| " + " | ".join(["`" + r[0] + "`"] + r[1:]) + " |"
              for r in map(row, document["records"])]
    machine = document["machine"]
    lines += ["", f"Measured {document['when']} on {machine['cores']} cores ({machine['cpu']}), "
                  f"{machine['memory_gib']} GiB, {machine['system']}; "
                  f"{machine['busy_percent']:.0f} % busy with other things before."]
    return "\n".join(lines)


def fill_markdown(path, document):
    """Puts the table between the marks of docs/performance.md."""
    text = path.read_text()
    head, rest = text.split(BEGIN_MARK)
    _, tail = rest.split(END_MARK)
    path.write_text(f"{head}{BEGIN_MARK}\n{markdown(document)}\n{END_MARK}{tail}")
