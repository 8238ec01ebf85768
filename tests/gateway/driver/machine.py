"""Was the machine there for a test of how long something takes?

As tests/cluster/machine.sh: what this process, those that it has started and those that it has waited for have used is
ours; somebody else's is all the rest that was used, a hypervisor's share with it.  So a gateway of ours that uses too much is
never an excuse.
"""
import os
import pathlib

OTHERS_PERCENT_MAX = 20


class Machine:
    """From its making on."""

    def __init__(self):
        self.begun = _ticks()

    def others_percent(self):
        """Of the processors."""
        everything, busy, ours = (now - then for now, then in zip(_ticks(), self.begun))
        return 100 * (busy - ours) / max(everything, 1)

    def was_elsewhere(self):
        return self.others_percent() > OTHERS_PERCENT_MAX


def _ticks():
    """All, those that somebody used, and those that we did."""
    words = pathlib.Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()
    user, nice, system, idle, iowait, irq, softirq, steal = map(int, words[1:9])
    busy = user + nice + system + irq + softirq + steal
    return busy + idle + iowait, busy, _ours()


def _ours():
    used, parents = {}, {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "stat").read_text(errors="replace").rsplit(")", 1)[1].split()
        except (OSError, IndexError):  # it has just ended
            continue
        parents[int(entry.name)] = int(words[1])
        used[int(entry.name)] = sum(map(int, words[11:15]))
    return sum(ticks for pid, ticks in used.items() if _is_ours(pid, parents))


def _is_ours(pid, parents):
    while pid in parents and pid != os.getpid():
        pid = parents[pid]
    return pid == os.getpid()
