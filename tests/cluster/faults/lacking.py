#!/usr/bin/env python3
"""lacking.py REPLICAS LOG... < ebt --json tablets: how many of these tablets have fewer members than that.

From the masters' logs: a tablet begins with all its members, and each change of them is told there.
"""
import json
import re
import sys

last = {}
for name in sys.argv[2:]:
    with open(name, encoding="utf-8", errors="replace") as log:
        for line in log:
            told = re.match(r'(\S+) .* tablet_configured .*tablet=(\d+) .*: (\d+) members', line)
            if told:
                last[told[2]] = max(last.get(told[2], ("", 0)), (told[1], int(told[3])))
tablets = [str(json.loads(line)["tablet"]) for line in sys.stdin]
lacking = sum(last.get(tablet, ("", int(sys.argv[1])))[1] < int(sys.argv[1]) for tablet in tablets)
print(lacking if tablets else 99)
