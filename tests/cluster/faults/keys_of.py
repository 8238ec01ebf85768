#!/usr/bin/env python3
"""keys_of.py ADDRESS < ebt --json tablets: first letters of the rows of tablets that ADDRESS serves; "*" if all."""
import json
import string
import sys

letters = ""
for line in sys.stdin:
    tablet = json.loads(line)
    start, end = tablet.get("start") or "a", tablet.get("end") or "{"
    if sys.argv[1] in tablet["address"]:
        letters += "".join(c for c in string.ascii_lowercase if start[0] <= c < end[0])
print("*" if len(letters) == 26 else letters or "-")
