#!/usr/bin/env python3
"""lacking.py REPLICAS < ebt --json tablets: how many of these tablets have fewer members than that."""
import json
import sys

tablets = [json.loads(line) for line in sys.stdin]
members = [sum(replica["role"] != "learner" for replica in tablet["replicas"]) for tablet in tablets]
print(sum(count < int(sys.argv[1]) for count in members) if tablets else "1")
