"""The command line: which records, how long, and what is made of the results."""
import argparse
import datetime
import json
import os
import pathlib
import platform
import signal
import subprocess
import sys
import traceback

from . import records, report
from .measure import Cpu, Plan, machine_load
from .process import BUILD, Failure, Missing, Workshop

ROOT = pathlib.Path(__file__).resolve().parents[3]
JSON = ROOT / "build/bench.json"
BUSY_PERCENT = 10
GROUPS = ("gateway", "hotspots")  # of records that are measured only when they are asked for
NEEDED = ("master/edubba-master", "tabletserver/edubba-tabletserver", "client/cli/ebt",
          "client/load/edubba-load")  # by every record; each names what else it needs


def record_of(name):
    """The record that is called so, or that makes a result of that name; None: neither."""
    return next((r for r in records.ALL if name == r.name or name in r.names()), None)


def take_names(parser, options):
    """
    Puts records in the place of what was named.  --only takes a result of a record that makes several: it
    measures them all.  --except does not: the others might be wanted.
    """
    for name in (options.only or []) + (options.without or []):
        if not record_of(name):
            parser.error(f"no record is called {name}; --list shows them")
    for name in options.without or []:
        if name != record_of(name).name:
            parser.error(f"{name} is measured together with the rest of {record_of(name).name}: "
                         f"--except {record_of(name).name} leaves all of it out")
    options.only = list(dict.fromkeys(record_of(name).name for name in options.only or []))


def chosen_by(options):
    """Records that are named; or else those of the group that is asked for."""
    group = next((group for group in GROUPS if getattr(options, group)), "")
    return [r for r in records.ALL
            if (r.name in options.only if options.only else r.group == group)
            and r.name not in (options.without or ())]


def needed_by(chosen):
    """Programs of the build, each once."""
    return list(dict.fromkeys([*NEEDED, *(p for record in chosen for p in record.programs)]))


def parse(arguments):
    parser = argparse.ArgumentParser(prog="tests/bench/run", description=(
        "Measure Edubba beside what a user would take instead, and write build/bench.json."))
    parser.add_argument("--only", metavar="NAME", action="append", help=(
        "this record, or that of this result (scale_rows.write); repeatable"))
    parser.add_argument("--except", dest="without", metavar="NAME", action="append", help=(
        "not this record; repeatable"))
    parser.add_argument("--gateway", action="store_true", help=(
        "the gateway's records, which are not measured otherwise"))
    parser.add_argument("--hotspots", action="store_true", help=(
        "the records of hot ranges on confined servers, which are not measured otherwise"))
    parser.add_argument("--quick", action="store_true", help=(
        "every record in a few seconds on tiny data; nothing is judged, all must work"))
    parser.add_argument("--list", action="store_true", help=(
        "the records, and how long each takes; with --only, --except, --gateway or --hotspots those that "
        "would be measured"))
    parser.add_argument("--pairs", type=int, metavar="N", help="turns of ours and the peer (5)")
    parser.add_argument("--seconds", type=float, metavar="S", help="of each measurement")
    parser.add_argument("--scale", type=float, metavar="F", help="this share of the rows (1)")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE",
                        help="where the results go (build/bench.json)")
    parser.add_argument("--markdown", action="store_true", help=(
        "measure nothing: put the figures of build/bench.json into the table of docs/performance.md, "
        "in place of those that they repeat"))
    parser.add_argument("--keep", action="store_true", help="keep the temporary folder")
    options = parser.parse_args(arguments)
    if options.quick and options.json:
        parser.error("--quick judges nothing and writes no results: leave --json away")
    options.json = options.json or JSON
    take_names(parser, options)
    if sum(getattr(options, group) for group in GROUPS) > 1:
        parser.error(f"{' and '.join('--' + group for group in GROUPS)}: one at a time")
    if not chosen_by(options):
        parser.error("--except leaves none of the records to measure")
    for option in ("pairs", "seconds", "scale"):
        if getattr(options, option) is not None and getattr(options, option) <= 0:
            parser.error(f"--{option}: more than 0")
    return options


def machine(load):
    """Where the figures come from; without them they say nothing."""
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        cpu = next((l.split(":")[1].strip() for l in info if l.startswith("model name")), "unknown")
    with open("/proc/meminfo", encoding="utf-8") as info:
        memory_kib = int(info.readline().split()[1])
    return {"cores": os.cpu_count(), "cpu": cpu, "memory_gib": round(memory_kib / 2**20),
            "system": f"Linux {platform.release()}", "busy_percent": load["busy"],
            "steal_percent": load["steal"]}


def commit():
    """Of what is measured, a plus behind it where files differ from it; None where that is not known."""
    git = ["git", "-C", str(ROOT)]
    try:
        name = subprocess.run([*git, "rev-parse", "--short", "HEAD"], check=True,
                              capture_output=True, text=True).stdout.strip()
        changed = subprocess.run([*git, "status", "--porcelain", "--untracked-files=no"], check=True,
                                 capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    return name + ("+" if changed else "")


def warn_if_busy(load):
    if load["busy"] > BUSY_PERCENT:
        print(f"This machine is not idle: {load['busy']:.0f} % busy"
              f"{' (' + ', '.join(load['by']) + ')' if load['by'] else ''}"
              f"{', %.0f %% taken by the hypervisor' % load['steal'] if load['steal'] > 1 else ''}."
              " The figures will be worse, and noisier, than on an idle one.", file=sys.stderr)


def measure(record, plan, progress, keep):
    """The record's results and, where it could not run, why it was skipped."""
    progress.say(record.name)
    workshop = Workshop(ROOT, keep)
    before = machine_load(0.5) if not plan.quick else None
    cpu = Cpu()
    try:
        results = record.measure(records.Bench(workshop, plan, progress, record))
    except Missing as missing:
        return [], str(missing)
    except Failure as failure:
        results = [record.broken(str(failure))]
    except Exception:  # a fault of the harness must not take the other records with it
        progress.clear()
        traceback.print_exc(limit=-2)
        results = [record.broken(traceback.format_exc().strip().splitlines()[-1])]
    finally:
        progress.clear()
        workshop.close()
    steal = cpu.percent()["steal"]
    for result in results:
        result.details["when"] = datetime.datetime.now().isoformat(" ", "minutes")
        result.details["commit"] = commit()
        if before and before["busy"] > BUSY_PERCENT:
            result.notes.append(f"the machine was {before['busy']:.0f} % busy before"
                                f" ({', '.join(before['by'])})")
        if steal > 1:
            result.notes.append(f"the hypervisor took {steal:.0f} % of the processors")
    return [r.as_json() for r in results], None


def show(results, skipped, quick):
    print()
    print(report.table(results))
    for result in results:
        for remark in report.remarks(result):
            if not quick or result["broken"]:
                print(f"  {result['name']}: {remark}")
    for name, why in skipped.items():
        print(f"  {name}: skipped: {why}")
    missed = sum(1 for r in results if r["met"] is False)
    counts = f"{len(results) - missed} passed, {missed} failed"
    print(counts + (f", {len(skipped)} skipped" if skipped else ""))
    return missed


def list_line(what, minutes, about=""):
    print(f"{what:22} {minutes:4d} min  {about}".rstrip())


def list_records(options):
    """What would be measured; where nothing is said of that, all that could be."""
    is_said = options.only or options.without or any(getattr(options, group) for group in GROUPS)
    listed = chosen_by(options) if is_said else records.ALL
    for record in listed:
        list_line(record.name, record.minutes, record.about
                  + (f" ({', '.join(record.names())})" if record.parts else ""))
    if is_said:
        list_line("", sum(r.minutes for r in listed))
        return
    for what, group in (("", ""), *(("--" + group, group) for group in GROUPS)):
        list_line(what, sum(r.minutes for r in listed if r.group == group))


def run(options, done):
    """`done` gets the names of records whose results have been written, or shown."""
    plan = Plan(options.quick, options.pairs, options.seconds, options.scale)
    chosen = chosen_by(options)
    missing = [p for p in needed_by(chosen) if not (ROOT / "build/release" / p).exists()]
    if missing:
        print(f"not built: {', '.join(missing)}; {BUILD}", file=sys.stderr)
        return 2
    load = machine_load(0.2 if options.quick else 2)
    if not options.quick:
        warn_if_busy(load)
        print(f"{len(chosen)} records, about {sum(r.minutes for r in chosen)} minutes at full "
              "length", file=sys.stderr)
    progress = report.Progress(options.quick)
    results, skipped = [], {}
    old = json.loads(options.json.read_text())["records"] if options.json.exists() else []
    for index, record in enumerate(chosen):
        progress.at(index + 1, len(chosen))
        found, why = measure(record, plan, progress, options.keep)
        if why:
            skipped[record.name] = why
        results += found
        if not options.quick:
            report.write_json(options.json, {
                "when": datetime.datetime.now().isoformat(" ", "minutes"),
                "machine": machine(load), "records": report.merged(old, results)})
            print(report.table(found))
        done.append(record.name)
    return 1 if show(results, skipped, options.quick) else 0


def interrupted(number, _):
    raise KeyboardInterrupt(number)


def main(arguments):
    options = parse(arguments)
    if options.list:
        list_records(options)
        return 0
    if options.markdown:
        if not options.json.exists():
            print(f"{options.json} is missing: run tests/bench/run first", file=sys.stderr)
            return 2
        report.fill_markdown(ROOT / "docs/performance.md", json.loads(options.json.read_text()))
        return 0
    signal.signal(signal.SIGTERM, interrupted)
    signal.signal(signal.SIGHUP, interrupted)
    done = []
    try:
        return run(options, done)
    except KeyboardInterrupt as signalled:
        print("\ninterrupted" + (f"; records that were done stand in {options.json}"
                                 if done and not options.quick else ""), file=sys.stderr)
        return 128 + (signalled.args[0] if signalled.args else signal.SIGINT)
