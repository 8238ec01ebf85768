#!/usr/bin/env python3
"""Is what clients of history_load saw one possible history of rows?

    check_history.py [--at-least N] [--within SECONDS] [--gap-p50 MS] [--gap-p99 MS] [--all-ok]
                     [--elsewhere WHY] [--still-ms MS] [--may-refuse CODE] FILE...

FILES are what history_load has written, of one table, and what the scenario has noted of its faults:
    E begin fault NAME KEYS   from now on keys whose first letters are these ("*": all) may be without service
    E begin healed            from now on nothing is the matter
Ends with "N passed, N failed".  What is checked, each by its name in a failure:

    lost      a change that was acknowledged is there in the end, with both of its cells
    invented  nothing is read that nobody has written, or not yet
    doubled   the sum is the number of changes that are there, the acknowledged and those in doubt alike;
              no increment came out twice
    stale     a read shows at least what was acknowledged, or shown to another, before it began
    torn      a read shows all of a change or nothing of it
    refused   no change ended with an error that says that it was not made, but with what --may-refuse names;
              with --all-ok, none with any error, and no read either; but reads whose deadline passed are told in a
              line of their own ("skipped: ..."), and not judged, where the machine or its disk stood still for half of it
              (--still-ms)
    missing   each row could be read in the end
    void      at least so many operations were acknowledged, else the run shows nothing
    service   each key is written again so soon after "healed"
    gap       the longest time between two acknowledged writes of a key, around a fault that touches it; with
              --elsewhere one that is too long is told in a line of its own ("skipped: ..."), and not judged

A change whose outcome is unknown may have been made, once, at any time after it began; one that was refused
was not.
"""
import argparse
import collections
import sys

UNKNOWN = {"DEADLINE_EXCEEDED", "UNAVAILABLE", "CANCELLED"}
SHOWN_MAX = 20
READ_DEADLINE_MS = 2000  # history_load's


class Key:
    def __init__(self):
        self.changes = []     # (begin, end, n, outcome)
        self.increments = []  # (begin, end, outcome, value)
        self.reads = []       # (begin, end, (a, b, sum, t))
        self.final = None     # (outcome, sum, t, [a], [b])


class Verdict:
    """A kind of failure of one key, or of the whole run, counts once, however many operations show it."""

    def __init__(self):
        self.checked = set()
        self.failed = set()
        self.shown = collections.Counter()

    def expect(self, good, kind, name, text):
        self.checked.add((kind, name))
        if good:
            return
        self.failed.add((kind, name))
        self.shown[kind] += 1
        if self.shown[kind] <= SHOWN_MAX:
            print(f"{kind}: {name}: {text}")


def read_line(words, keys, events, outcomes, failed_reads):
    kind = words[0]
    if kind == "E":
        events.append((int(words[1]), *words[2:]))
    elif kind == "W":
        keys[words[1]].changes.append((int(words[3]), int(words[4]), int(words[2]), words[5]))
        outcomes[words[5]] += 1
    elif kind == "T":
        keys[words[1]].increments.append((int(words[2]), int(words[3]), words[4], int(words[5])))
        outcomes[words[4]] += 1
    elif kind == "R" and words[4] == "OK":
        keys[words[1]].reads.append((int(words[2]), int(words[3]), tuple(map(int, words[5:9]))))
    elif kind == "R":
        failed_reads[words[4]] += 1
    elif kind == "F":
        a, b = ([] if w == "-" else list(map(int, w.split(","))) for w in words[5:7])
        keys[words[1]].final = (words[2], int(words[3]), int(words[4]), a, b)


def read_files(names):
    keys, events = collections.defaultdict(Key), []
    outcomes, failed_reads = collections.Counter(), collections.Counter()
    for name in names:
        with open(name, encoding="utf-8") as lines:
            for line in lines:
                if line.endswith("\n") and line != "\n":  # a writer that was killed leaves half a line
                    read_line(line.split(), keys, events, outcomes, failed_reads)
    return keys, sorted(events), outcomes, failed_reads


def sweep(observations, verdict, name, what):
    """Observations of something that only grows: (begin, end, seen or None, known by the end).

    What is known when one begins, by acknowledgement or by another's eyes, is the least that it may see.
    """
    moments = []
    for number, (begin, end, _, _) in enumerate(observations):
        moments.append((begin, 1, number))
        moments.append((end, 0, number))  # what ends at the moment when another begins came before it
    least, floor = 0, {}
    for _, begins, number in sorted(moments):
        _, _, seen, known = observations[number]
        if begins:
            floor[number] = least
        else:
            if seen is not None:
                verdict.expect(seen >= floor[number], "stale", name, f"{what}: {seen} seen after {floor[number]}: {observations[number]}")
            least = max(least, known)


def sweep_begun(begins, reads, verdict, name, what):
    """No read shows more changes than had begun when it ended."""
    begins, at = sorted(begins), 0
    for end, seen in sorted(reads):
        while at < len(begins) and begins[at] < end:
            at += 1
        verdict.expect(seen <= at, "invented", name, f"{what}: {seen} when {at} had begun, at {end}")


def check_reads(name, key, verdict):
    begun = {n: begin for begin, _, n, _ in key.changes}
    for begin, end, (a, b, total, _) in key.reads:
        verdict.expect(a == b, "torn", name, f"a is {a}, b is {b} in a read of {begin}..{end}")
        verdict.expect(a == 0 or begun.get(a, end) < end, "invented", name, f"change {a} read at {end}")
        verdict.expect((a == 0) == (total == 0), "torn", name, f"change {a} with sum {total} in a read of {begin}..{end}")
    acknowledged = [(begin, end, n) for begin, end, n, outcome in key.changes if outcome == "OK"]
    sweep([(begin, end, None, n) for begin, end, n in acknowledged] +
          [(begin, end, a, a) for begin, end, (a, _, _, _) in key.reads], verdict, name, "p:a")
    ends = sorted((end, begin) for begin, end, _ in acknowledged)
    sweep([(begin, end, None, count) for count, (end, begin) in enumerate(ends, 1)] +
          [(begin, end, total, total) for begin, end, (_, _, total, _) in key.reads], verdict, name, "s:n")
    sweep_begun([begin for begin, _, _, _ in key.changes],
                [(end, total) for _, end, (_, _, total, _) in key.reads], verdict, name, "s:n")


def check_increments(name, key, verdict):
    done = [(begin, end, value) for begin, end, outcome, value in key.increments if outcome == "OK"]
    counts = collections.Counter(value for _, _, value in done)
    verdict.expect(all(c == 1 for c in counts.values()), "doubled", name,
                   f"p:t: came out more than once: {[v for v, c in counts.items() if c > 1][:5]}")
    # One that begins after another has ended comes out above it: it sees it, and adds 1.
    sweep([(begin, end, value - 1, value) for begin, end, value in done] +
          [(begin, end, t, t) for begin, end, (_, _, _, t) in key.reads], verdict, name, "p:t")
    sweep_begun([begin for begin, _, _, _ in key.increments],
                [(end, t) for _, end, (_, _, _, t) in key.reads] + [(end, value) for _, end, value in done],
                verdict, name, "p:t")


def check_final(name, key, verdict):
    outcome, total, t, a, b = key.final if key.final else ("not asked", 0, 0, [], [])
    verdict.expect(outcome == "OK", "missing", name, f"{outcome}")
    if outcome != "OK":
        return
    there, attempted = set(a), {n for _, _, n, _ in key.changes}
    acknowledged = {n for _, _, n, outcome in key.changes if outcome == "OK"}
    lost = acknowledged - there
    verdict.expect(not lost, "lost", name, f"{len(lost)} of {len(acknowledged)} acknowledged changes, {sorted(lost)[:5]}")
    verdict.expect(there <= attempted, "invented", name, f"{sorted(there - attempted)[:5]}")
    refused = {n for _, _, n, outcome in key.changes if outcome != "OK" and outcome not in UNKNOWN} & there
    verdict.expect(not refused, "invented", name, f"{sorted(refused)[:5]} were refused, and are there")
    verdict.expect(a == b and len(a) == len(there), "torn", name, f"versions of p:a and p:b differ")
    verdict.expect(total == len(there), "doubled" if total > len(there) else "lost", name,
                   f"sum {total} of {len(there)} changes")
    done = sum(outcome == "OK" for _, _, outcome, _ in key.increments)
    verdict.expect(done <= t, "lost", name, f"p:t is {t}, {done} increments were acknowledged")
    verdict.expect(t <= len(key.increments), "doubled", name, f"p:t is {t} of {len(key.increments)} increments")


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def gaps_of(keys, events):
    """By fault's name: ms without an acknowledged write, of each key that it touches."""
    gaps = collections.defaultdict(list)
    faults = [e for e in events if e[1] == "fault"]
    for number, (begin, _, what, *touched) in enumerate(faults):
        until = faults[number + 1][0] if number + 1 < len(faults) else float("inf")
        letters = touched[0] if touched else "*"
        for name, key in keys.items():
            if letters != "*" and name[0] not in letters:
                continue
            ends = sorted(end for _, end, _, outcome in key.changes if outcome == "OK")
            spans = [(after - before) / 1e6 for before, after in zip(ends, ends[1:]) if after > begin and before < until]
            if spans:
                gaps[what].append(max(spans))
    return gaps


def check_gaps(keys, events, limits, verdict):
    for what, values in gaps_of(keys, events).items():
        p50, p99 = percentile(values, 0.5), percentile(values, 0.99)
        print(f"gap {what}: keys={len(values)} p50={p50:.0f} ms p99={p99:.0f} ms max={max(values):.0f} ms")
        for limit, value, share in ((limits.gap_p50, p50, "p50"), (limits.gap_p99, p99, "p99")):
            if limit and value > limit and limits.elsewhere:
                print(f"skipped: gap {what}: {share} {value:.0f} ms, more than {limit:.0f}, and says nothing: {limits.elsewhere}")
            elif limit:
                verdict.expect(value <= limit, "gap", what, f"{share} {value:.0f} ms, at most {limit}")


def check_service(keys, events, within, verdict):
    healed = [e[0] for e in events if e[1] == "healed"]
    if not within or not healed:
        return
    for name, key in keys.items():
        late = [end for _, end, _, outcome in key.changes if outcome == "OK" and end > healed[-1]]
        took = (min(late) - healed[-1]) / 1e9 if late else float("inf")
        verdict.expect(took <= within, "service", name, f"written {took:.1f} s after all was healed, at most {within}")


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--at-least", type=int, default=0)
    options.add_argument("--within", type=float, default=0)
    options.add_argument("--gap-p50", type=float, default=0)
    options.add_argument("--gap-p99", type=float, default=0)
    options.add_argument("--elsewhere", metavar="WHY", help="the machine was: gaps that are too long are told, and not judged")
    options.add_argument("--still-ms", type=int, default=0, metavar="MS", help="so long the machine stood still at a time")
    options.add_argument("--all-ok", action="store_true")
    options.add_argument("--may-refuse", default="OK", metavar="CODE")
    options.add_argument("files", nargs="+")
    options = options.parse_args()
    keys, events, outcomes, failed_reads = read_files(options.files)
    verdict = Verdict()
    for name, key in sorted(keys.items()):
        check_reads(name, key, verdict)
        check_increments(name, key, verdict)
        check_final(name, key, verdict)
    allowed = {"OK"} if options.all_ok else {"OK", *UNKNOWN, options.may_refuse}
    for outcome, count in outcomes.items():
        verdict.expect(outcome in allowed, "refused", outcome, f"{count} changes")
    for outcome, count in failed_reads.items() if options.all_ok else ():
        if outcome == "DEADLINE_EXCEEDED" and options.still_ms >= READ_DEADLINE_MS / 2:
            print(f"skipped: refused: {outcome}: {count} reads, and says nothing: the machine, or its disk, stood still for {options.still_ms} ms")
        else:
            verdict.expect(False, "refused", outcome, f"{count} reads")
    verdict.expect(outcomes["OK"] >= options.at_least, "void", "all",
                   f"{outcomes['OK']} operations were acknowledged, at least {options.at_least} are needed")
    check_service(keys, events, options.within, verdict)
    check_gaps(keys, events, options, verdict)
    print(f"operations: {', '.join(f'{n} {o}' for o, n in sorted(outcomes.items()))}; "
          f"reads: {sum(len(k.reads) for k in keys.values())} OK{''.join(f', {n} {o}' for o, n in sorted(failed_reads.items()))}")
    print(f"{len(verdict.checked - verdict.failed)} passed, {len(verdict.failed)} failed")
    return len(verdict.failed) > 0


if __name__ == "__main__":
    sys.exit(main())
