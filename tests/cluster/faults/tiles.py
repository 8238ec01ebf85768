#!/usr/bin/env python3
"""tiles.py < ebt --json tablets: "whole" where the tablets of a table cover all rows once and each has a server;
else what is the matter."""
import json
import sys

tablets = [json.loads(line) for line in sys.stdin]
bounds = [""] + [tablet.get("end") or "" for tablet in tablets]
faults = [f"{tablet['tablet']} begins at {tablet.get('start')!r}, the one before it ends at {bound!r}"
          for tablet, bound in zip(tablets, bounds) if (tablet.get("start") or "") != bound]
faults += [f"{tablet['tablet']} ends at the end, and is not the last" for tablet in tablets[:-1] if not tablet.get("end")]
faults += [f"{tablet['tablet']} has no server" for tablet in tablets if tablet["server"] in ("0", "", None)]
if not tablets or bounds[-1]:
    faults.append("the last rows are in no tablet")
print("; ".join(faults) or "whole")
