"""Ports that nobody else has."""
import errno
import fcntl
import os
import random
import socket

BLOCK = 200
FIRST = 10000
BLOCK_COUNT = 113  # up to 32599: below 32768, where the system takes none for outgoing connections


class Ports:
    """200 ports, locked as tests/cluster/ports.sh locks them: tests that run at the same time get others."""

    def __init__(self):
        self.taken = 0
        for block in random.sample(range(BLOCK_COUNT), BLOCK_COUNT):
            self.first = FIRST + BLOCK * block
            try:
                self.lock = os.open(f"/tmp/edubba-ports-{self.first}.lock", os.O_RDWR | os.O_CREAT, 0o666)
            except PermissionError:  # another user's
                continue
            try:
                fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                os.close(self.lock)
        raise OSError(errno.EADDRINUSE, f"all ports from {FIRST} on are claimed by other tests")

    def next(self):
        """One that no test has and where nobody listens; one that was given out comes again late."""
        for _ in range(BLOCK):
            port = self.first + self.taken % BLOCK
            self.taken += 1
            with socket.socket() as probe:
                try:
                    probe.bind(("127.0.0.1", port))
                    return port
                except OSError:
                    continue
        raise OSError(errno.EADDRINUSE, f"none of the ports from {self.first} on is free")

    def close(self):
        os.close(self.lock)
