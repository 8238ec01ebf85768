#!/usr/bin/env python3
"""check_history.py finds what it is for: one small history that is right, and one with each thing wrong."""
import json
import pathlib
import subprocess
import sys
import tempfile

RIGHT = [
    "W a000 1 10 20 OK", "W a000 2 30 40 OK", "W a000 3 50 60 UNAVAILABLE",
    "T a000 25 28 OK 1", "T a000 45 48 OK 2",
    "R a000 21 24 OK 1 1 1 0", "R a000 32 38 OK 1 1 1 1", "R a000 41 44 OK 2 2 2 1", "R a000 70 80 OK 3 3 3 2",
    "E 30 fault kill *", "E 35 healed",
    "F a000 OK 3 2 3,2,1 3,2,1",
]
# name of the failure -> lines of RIGHT to take out, lines to put in, options
WRONG = {
    "lost": (["F a000 OK 3 2 3,2,1 3,2,1"], ["F a000 OK 2 2 3,1 3,1"], []),
    "lost (increments)": (["F a000 OK 3 2 3,2,1 3,2,1"], ["F a000 OK 3 1 3,2,1 3,2,1"], []),
    "invented": ([], ["R a000 71 79 OK 9 9 3 2"], []),
    "invented (too early)": ([], ["R a000 21 29 OK 2 2 2 1"], []),
    "doubled": (["F a000 OK 3 2 3,2,1 3,2,1"], ["F a000 OK 4 2 3,2,1 3,2,1"], []),
    "doubled (increments)": (["T a000 45 48 OK 2"], ["T a000 45 48 OK 1"], []),
    "stale": ([], ["R a000 42 49 OK 1 1 1 1"], []),
    "stale (after another read)": ([], ["R a000 81 82 OK 2 2 2 2"], []),
    "stale (sum)": ([], ["R a000 42 49 OK 2 2 1 1"], []),
    "stale (increments)": ([], ["R a000 52 53 OK 2 2 2 1"], []),
    "torn": ([], ["R a000 33 39 OK 2 1 2 1"], []),
    "torn (in the end)": (["F a000 OK 3 2 3,2,1 3,2,1"], ["F a000 OK 3 2 3,2,1 3,2"], []),
    "refused": ([], ["W a000 4 90 95 INTERNAL"], []),
    "refused (a doubt)": ([], [], ["--all-ok"]),
    "refused (a read)": ([], ["R a000 71 79 DEADLINE_EXCEEDED 0 0 0 0"], ["--all-ok"]),
    "invented (refused, and there)": (["W a000 3 50 60 UNAVAILABLE"], ["W a000 3 50 60 RESOURCE_EXHAUSTED"],
                                      ["--may-refuse", "RESOURCE_EXHAUSTED"]),
    "missing": (["F a000 OK 3 2 3,2,1 3,2,1"], ["F a000 UNAVAILABLE 0 0 - -"], []),
    "void": ([], [], ["--at-least", "100"]),
    "service": (["E 35 healed"], ["E 60 healed"], ["--within", "1"]),
    "gap": ([], [], ["--gap-p99", "0.00001"]),
}


def check(lines, options):
    with tempfile.NamedTemporaryFile("w") as file:
        file.write("\n".join(lines) + "\n")
        file.flush()
        program = pathlib.Path(__file__).parent / "check_history.py"
        ran = subprocess.run([program, *options, file.name], capture_output=True, text=True)
    return ran.returncode, ran.stdout + ran.stderr


def tiling(*tablets):
    lines = "".join(json.dumps({"tablet": str(n), "start": start, "end": end, "server": server}) + "\n"
                    for n, (start, end, server) in enumerate(tablets))
    program = pathlib.Path(__file__).parent / "tiles.py"
    return subprocess.run([program], input=lines, capture_output=True, text=True).stdout


# What tiles.py says of tablets.
TILINGS = {
    "whole": [("", "g", "1"), ("g", "n", "2"), ("n", "", "1")],
    "1 begins at 'h'": [("", "g", "1"), ("h", "", "2")],
    "1 begins at 'f'": [("", "g", "1"), ("f", "", "2")],
    "0 ends at the end": [("", "", "1"), ("", "", "1")],
    "the last rows": [("", "g", "1")],
    "0 begins at 'a'": [("a", "", "1")],
    "0 has no server": [("", "", "0")],
    "the last rows are": [],
}

problems = []
status, said = check(RIGHT, ["--within", "1", "--at-least", "4", "--gap-p99", "1"])
if status != 0:
    problems.append(f"what is right is refused:\n{said}")
for name, (out, into, options) in WRONG.items():
    status, said = check([line for line in RIGHT if line not in out] + into, options)
    if status != 1 or not any(line.startswith(name.split()[0] + ":") for line in said.splitlines()):
        problems.append(f"{name} is not found:\n{said}")
out, into, options = WRONG["gap"]
status, said = check([line for line in RIGHT if line not in out] + into, [*options, "--elsewhere", "others had it"])
if status != 0 or "skipped: gap " not in said or "says nothing: others had it" not in said:
    problems.append(f"a gap of a machine that was elsewhere is judged, or not told:\n{said}")
out, into, options = WRONG["refused (a read)"]
for still_ms, wanted in (("999", "refused: DEADLINE_EXCEEDED: 1 reads"), ("1000", "skipped: refused: DEADLINE_EXCEEDED: 1 reads")):
    _, said = check(RIGHT + into, [*options, "--still-ms", still_ms])
    if not any(line.startswith(wanted) for line in said.splitlines()):
        problems.append(f"a machine that stood still for {still_ms} ms: not '{wanted}':\n{said}")
for wanted, tablets in TILINGS.items():
    if not tiling(*tablets).startswith(wanted):
        problems.append(f"'{wanted}' is not said of {tablets}: {tiling(*tablets)}")
print("\n".join(problems) if problems else "all found")
print(f"{len(WRONG) + len(TILINGS) + 2 - len(problems)} passed, {len(problems)} failed")
sys.exit(len(problems) > 0)
