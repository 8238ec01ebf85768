"""tests/gateway/run: options, the order of things, and the last line."""
import argparse
import fnmatch
import pathlib
import sys
import time

from . import compare, notation, scenario
from .clients import CLIENTS, HERE, Runner
from .cluster import (ROOT, Cluster, Elsewhere, Failure, Missing, Shop, numbered_rows, plain_rows,
                      rows_of_ebt)

PROJECT = "scenario"
AGAIN_SECONDS = 2  # so long nothing is kept that was answered without knowing
# Reads of which ebt can be asked the same thing: with nothing but these.
EBT_CAN = {"table", "limit", "reversed", "prefixes", "row", "deadlineMs"}


class Tally:
    """What is said of each step, and counted."""

    def __init__(self):
        self.passed = 0
        self.failed = 0
        self.skipped = 0

    def ok(self):
        self.passed += 1

    def bad(self, what, why):
        self.failed += 1
        print(f"FAILED: {what}: {why}", flush=True)

    def skip(self, what, why):
        self.skipped += 1
        print(f"skipped: {what}: {why}", flush=True)

    def check(self, what, fault):
        if fault is None:
            self.ok()
        else:
            self.bad(what, fault)


def table_of_ours(table, project, instance):
    """What ebt calls it."""
    return table if (project, instance) == ("edubba", "edubba") else f"{project}/{instance}/{table}"


def is_printable(written):
    data = notation.decode(written)
    return b"\0" not in data and data != b"" and all(byte < 0x80 for byte in data)


def ebt_arguments(step, place):
    """How ebt is asked for the rows of this step; None when it cannot be."""
    arguments = step.arguments
    if step.action not in ("readRows", "readRow") or set(arguments) - EBT_CAN:
        return None
    table = table_of_ours(arguments["table"], *place)
    if step.action == "readRow":
        if not is_printable(arguments["row"]):
            return None
        return ["--json", "lookup", table, notation.decode(arguments["row"]).decode()]
    words = ["--json", "read", table]
    prefixes = arguments.get("prefixes", [])
    if len(prefixes) > 1 or not all(is_printable(p) for p in prefixes):
        return None
    words += [f"prefix={notation.decode(p).decode()}" for p in prefixes]
    words += [f"count={arguments['limit']}"] if "limit" in arguments else []
    words += ["reversed=true"] if arguments.get("reversed") else []
    return words


class Spoiled:
    """
    What a client could not prepare: a step that was skipped leaves its table, families or rows not
    as later steps expect them, and those are skipped too, by name.
    """

    def __init__(self):
        self.places = set()

    @staticmethod
    def _rows(step):
        arguments = step.arguments
        if "entries" in arguments:
            return [str(entry["row"]) for entry in arguments["entries"]]
        return [str(arguments["row"])] if "row" in arguments else []

    @staticmethod
    def _kind(step):
        """What of an instance it is about."""
        return next(kind for kind in ("Profile", "Cluster", "Tablets", "Instance")
                    if kind in step.action)

    @staticmethod
    def _ends(step):
        """Is it about an instance that goes, whatever it holds?"""
        expected = step.written.get("expect", {})
        return step.action == "deleteInstance" or expected.get("error", {}).get("code") == "NOT_FOUND"

    @staticmethod
    def _reads(step, what):
        """Does a read of rows look at this row ("row KEY"), or at rows of which all are in doubt?"""
        arguments = step.arguments
        prefixes = arguments.get("prefixes", [arguments["prefix"]] if "prefix" in arguments else [])
        if not what.startswith("row "):
            return what == "rows"
        if "ranges" in arguments or not (arguments.get("keys") or prefixes):
            return True
        key = what.removeprefix("row ")
        return key in map(str, arguments.get("keys", [])) or \
            any(not isinstance(prefix, str) or key.startswith(prefix) for prefix in prefixes)

    def spoil(self, step):
        table = (step.written.get("in"), step.arguments.get("table"))
        if step.action == "createTable":
            self.places.add((*table, "all"))
        elif step.action == "modifyFamilies":
            self.places.add((*table, "schema"))
        elif step.action == "protectTable":
            self.places.add((*table, "protection"))
        elif step.action == "dropRows":
            self.places.add((*table, "rows"))
        elif step.action in ("mutateRow", "mutateRows", "checkAndMutate", "readModifyWrite",
                             "hllMerge"):
            self.places.update((*table, "row " + row) for row in self._rows(step))
        elif "instance" in step.arguments and step.action.startswith(("create", "update", "delete")):
            whole = step.action in ("createInstance", "deleteInstance")
            self.places.add((None, step.arguments["instance"], "all" if whole else self._kind(step)))

    def touches(self, step):
        if "instance" in step.arguments:
            whats = ["all"] if self._ends(step) else ["all", self._kind(step)]
            return any((None, step.arguments["instance"], what) in self.places for what in whats)
        table = (step.written.get("in"), step.arguments.get("table"))
        if (*table, "all") in self.places:
            return True
        if step.action == "getTable":
            return (*table, "schema") in self.places or (*table, "protection") in self.places
        if (*table, "protection") in self.places and step.refuses_protected():
            return True
        if step.action in ("readRows", "readSome", "ebtReads"):
            return any(place[:2] == table and self._reads(step, place[2]) for place in self.places)
        return any((*table, "row " + row) in self.places for row in self._rows(step))


class Run:
    """One client through the scenario."""

    def __init__(self, client, cluster, tally, options):
        self.client = client
        self.cluster = cluster
        self.tally = tally
        self.options = options
        self.place = (PROJECT, f"client-{client.name}")
        self.spoiled = Spoiled()

    def place_of(self, step):
        return tuple(step.written["in"].split("/")) if "in" in step.written else self.place

    def go(self):
        log = pathlib.Path(self.client.shop.folder) / f"runner-{self.client.name}.log"
        runner = Runner(self.client, self.cluster.address, *self.place, keep_log=log)
        try:
            for step in scenario.load(self.options.scenario, self.client.name):
                if not fnmatch.fnmatch(step.name, self.options.steps):
                    continue
                what = f"{self.client.name}: {step.name}"
                if self.spoiled.touches(step):
                    self.tally.skip(what, "a step that prepares it was skipped")
                elif step.is_own():
                    self.do_own(step, what)
                else:
                    self.do(runner, step, what)
        except Failure as failure:
            said = log.read_text(errors="replace").strip()[-400:] if log.exists() else ""
            self.tally.bad(f"{self.client.name}: {step.name}",
                           f"{failure}; what follows was not done; its log ends: {said}")
        finally:
            runner.close()

    def outcome_of(self, runner, step):
        """Of a step that is done again where it came out otherwise, the last."""
        for left in reversed(range(step.tries)):
            outcome = runner.do(step)
            if not left or "lacks" in outcome or \
                    compare.judge(step.expected(self.client.name), outcome) is None:
                return outcome
            time.sleep(AGAIN_SECONDS)

    def do(self, runner, step, what):
        outcome = self.outcome_of(runner, step)
        if self.options.verbose:
            print(f"  {what}: {str(outcome)[:300]}", flush=True)
        if ("lacks" in outcome or "refused" in outcome) and \
                "result" in step.expected(self.client.name):
            self.spoiled.spoil(step)
        if "lacks" in outcome:
            self.tally.skip(what, f"this client lacks it: {outcome['lacks']}")
            return
        if "refused" in outcome:
            if step.is_refusable:
                self.tally.skip(what, f"the client itself refuses: {outcome['refused'][:120]}")
            else:
                self.tally.bad(what, f"the runner failed without an answer: {outcome['refused']}")
            return
        self.tally.check(what, compare.judge(step.expected(self.client.name), outcome))
        if "result" in outcome:
            self.compare_with_ebt(step, outcome["result"], what)

    def compare_with_ebt(self, step, result, what):
        arguments = ebt_arguments(step, self.place_of(step))
        if arguments is None or "rows" not in result and "row" not in result:
            return
        if self.cluster.masters is None:
            self.tally.skip(f"{what}, cell by cell", "nobody's ebt reads that cluster")
            return
        status, output, errors = self.cluster.ebt(*arguments)
        if status != 0:
            self.tally.bad(f"{what}, cell by cell", f"ebt: {errors.strip()[-200:]}")
            return
        theirs = plain_rows(rows_of_ebt(output))
        self.tally.check(f"{what}, cell by cell",
                         compare.rows_difference(compare.rows_of(result), theirs))

    def do_own(self, step, what):
        """What only ebt can do or see."""
        if self.cluster.masters is None:
            self.tally.skip(what, "nobody's ebt reads that cluster")
            return
        expected = step.expected(self.client.name)
        if step.action == "ebt":
            status, output, errors = self.cluster.ebt(*step.arguments["arguments"])
            outcome = {"result": {}} if status == 0 else {
                "error": {"code": f"exit {status}", "text": errors.strip()}}
            self.tally.check(what, compare.judge(expected, outcome))
            return
        table = table_of_ours(step.arguments["table"], *self.place_of(step))
        if step.action == "makeHot":
            self.tally.check(what, None if self.make_hot(table) else "ebt does not list it as hot")
            return
        words = [f"prefix={step.arguments['prefix']}"] if "prefix" in step.arguments else []
        status, output, errors = self.cluster.ebt("--json", "read", table, *words)
        if status != 0:
            self.tally.bad(what, f"ebt: {errors.strip()[-200:]}")
            return
        rows = rows_of_ebt(output)
        rows = numbered_rows(rows) if step.arguments.get("numbers") else plain_rows(rows)
        self.tally.check(what, compare.judge(expected, {"result": {"rows": rows}}))

    def make_hot(self, table):
        """
        Read from a table of edubba-load's until ebt lists one of its tablets.  Reads, since they take
        processor time on a machine with a slow disk too, where writes would wait for that.
        """
        load = [self.cluster.shop.program("client/load/edubba-load"), "--masters",
                self.cluster.masters, "--quiet"]
        what = ["read", "--table", table, "--records", "2000"]
        self.cluster.shop.run_for_status([*load, "load", *what], 120)
        for _ in range(20):
            self.cluster.shop.run_for_status([*load, "run", *what, "--duration", "2"], 120)
            status, output, _ = self.cluster.ebt("--json", "hot-tablets", table, "last=10m")
            if status == 0 and output.strip():
                return True
        return False


def run_clients(options, shop, tally):
    cluster = None
    for name in options.client or CLIENTS:
        client = CLIENTS[name](shop, options.cache)
        try:
            client.install()
        except Missing as missing:
            tally.skip(name, str(missing))
            continue
        if options.lock:
            client.lock()
            if client.locks:
                print(f"{name}: lock files are in {HERE / name}")
            continue
        if cluster is None:
            cluster = Elsewhere(options.address) if options.address else Cluster(shop)
        before = (tally.passed, tally.failed, tally.skipped)
        Run(client, cluster, tally, options).go()
        after = (tally.passed, tally.failed, tally.skipped)
        print("%s: %d passed, %d failed, %d skipped" %
              (name, *[b - a for a, b in zip(before, after)]), flush=True)
    if isinstance(cluster, Cluster) and not cluster.gateway_lives():
        tally.bad("gateway", f"it ended with {cluster.gateway.returncode}")


def parse(arguments):
    parser = argparse.ArgumentParser(prog="tests/gateway/run", description=(
        "The official Bigtable clients through one scenario, against a cluster of this build."))
    parser.add_argument("--build", default=str(ROOT / "build/release"), help="the build folder")
    parser.add_argument("--cache", help="where clients are installed; default: in the build folder")
    parser.add_argument("--client", action="append", choices=list(CLIENTS), help="only this one")
    parser.add_argument("--steps", default="*", metavar="PATTERN",
                        help="only steps whose 'part: name' is like it; those before may be needed")
    parser.add_argument("--scenario", default=str(HERE.parent / "scenario.json"))
    parser.add_argument("--address", metavar="HOST:PORT",
                        help="ask this gateway (or emulator) and start none; ebt is not asked")
    parser.add_argument("--lock", action="store_true",
                        help="install, and copy the lock files that came of it into the sources")
    parser.add_argument("--keep", action="store_true", help="leave the folder with logs and data")
    parser.add_argument("--verbose", action="store_true", help="print every outcome")
    options = parser.parse_args(arguments)
    # Clients run in folders of their own.
    options.build = str(pathlib.Path(options.build).resolve())
    options.cache = str(pathlib.Path(options.cache or f"{options.build}/gateway-clients").resolve())
    return options


def main(arguments):
    options = parse(arguments)
    tally = Tally()
    shop = Shop(options.build, options.keep)
    try:
        run_clients(options, shop, tally)
    except Missing as missing:
        tally.skip("everything", str(missing))
    except (Failure, notation.Mistake) as failure:
        tally.bad("the run", str(failure))
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    finally:
        shop.close()
    print(f"{tally.passed} passed, {tally.failed} failed, {tally.skipped} skipped")
    return 1 if tally.failed else 0
