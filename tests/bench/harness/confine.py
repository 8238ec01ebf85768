"""A share of a processor for each server, by cgroup: several on one small machine behave as several machines."""
import itertools
import os
import pathlib
import time

from .process import Missing

ROOT = pathlib.Path("/sys/fs/cgroup")
PERIOD_US = 10000  # short: a server that has used its share up waits for some milliseconds, not for 100
NUMBERS = itertools.count(1)


class Confinement:
    """
    Groups of this process' own, one for each server: v1's where its cpu controller is mounted, else v2's.  Missing
    where that is not allowed.  close() gives the processes back and removes the groups.
    """

    def __init__(self, share):
        self.quota_us = int(share * PERIOD_US)
        self.parent = ROOT / "cpu" if (ROOT / "cpu/cpu.cfs_quota_us").exists() else ROOT
        self.groups = []

    def add(self, pid):
        """All threads of the process, those to come included."""
        group = self.parent / f"edubba-bench-{os.getpid()}-{next(NUMBERS)}"
        try:
            group.mkdir()
            self.groups.append(group)
            if self.parent == ROOT:
                (ROOT / "cgroup.subtree_control").write_text("+cpu")
                (group / "cpu.max").write_text(f"{self.quota_us} {PERIOD_US}")
            else:
                (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
                (group / "cpu.cfs_quota_us").write_text(str(self.quota_us))
            (group / "cgroup.procs").write_text(str(pid))
        except OSError as error:
            self.close()
            raise Missing(f"no server can be confined to a share of a processor: {error}; it takes root and cgroups"
                          ) from None

    def close(self):
        for group in self.groups:
            self._empty(group)
        self.groups.clear()

    def _empty(self, group):
        for pid in (group / "cgroup.procs").read_text().split():
            try:
                (self.parent / "cgroup.procs").write_text(pid)
            except OSError:
                pass  # it has ended meanwhile
        for _ in range(100):  # a process that has just ended is still in it for a moment
            try:
                group.rmdir()
                return
            except OSError:
                time.sleep(0.02)
