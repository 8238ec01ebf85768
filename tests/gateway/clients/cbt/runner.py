"""
Takes cbt, the command-line client, through the steps that come in, one a line; README.md of
tests/gateway says what a step is.  Usage: runner.py PROJECT INSTANCE, with BIGTABLE_EMULATOR_HOST set.

A step is one command.  cbt takes text in its arguments and prints it, so what is no plain text is
named as lacking, and so is what it has no command for.
"""
import calendar
import hashlib
import json
import os
import re
import subprocess
import sys
import time

SHOWN_BYTES_MAX = 64
COMMAND_SECONDS = 120
CODE = re.compile(r"code = (\w+) desc = (.*)", re.DOTALL)
CELL = re.compile(rb"  ([-_.a-zA-Z0-9]+):(.*?) +@ (\d{4}/\d\d/\d\d-\d\d:\d\d:\d\d)\.(\d{6})")
ESCAPES = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, "\\": 92, '"': 34, "'": 39}


class Lacks(Exception):
    """There is no command for it."""


class Failed(Exception):
    """The command ended with an error."""


# --- text and bytes -------------------------------------------------------------------------------


def text_of(given):
    """What a step gives, as an argument."""
    data = bytes.fromhex(given) if isinstance(given, str) else \
        bytes.fromhex(given["hex"]) * given["times"]
    if not re.fullmatch(rb"[\x20-\x7e]*", data):
        raise Lacks("bytes that are no plain text")
    if len(data) > 100000:
        raise Lacks("arguments that long")
    return data.decode()


def shown(data):
    if len(data) <= SHOWN_BYTES_MAX:
        return data.hex()
    return f"sha256:{hashlib.sha256(data).hexdigest()}:{len(data)}"


def unquoted(line):
    """The bytes of a text in Go's quotes."""
    text = line.decode().strip()[1:-1]
    made = bytearray()
    at = 0
    while at < len(text):
        if text[at] != "\\":
            made += text[at].encode()
            at += 1
            continue
        kind = text[at + 1]
        size = {"x": 2, "u": 4, "U": 8}.get(kind, 0)
        if size:
            number = int(text[at + 2:at + 2 + size], 16)
            made += bytes([number]) if kind == "x" else chr(number).encode()
        else:
            made.append(ESCAPES[kind])
        at += 2 + size
    return bytes(made)


# --- cbt ------------------------------------------------------------------------------------------


def cbt(place, *arguments):
    """What it prints.  Failed with what it says of an error."""
    project, instance = place.split("/")
    process = subprocess.run(
        ["cbt", "-project", project, "-instance", instance, *arguments], stdin=subprocess.DEVNULL,
        capture_output=True, timeout=COMMAND_SECONDS, env={**os.environ, "TZ": "UTC"})
    if process.returncode != 0:
        raise Failed(process.stderr.decode(errors="replace").strip())
    return process.stdout


def rows_of(output):
    rows = []
    lines = output.split(b"\n")
    at = 0
    while at < len(lines):
        cell = CELL.fullmatch(lines[at])
        if re.fullmatch(rb"-{40}", lines[at]):
            rows.append({"row": shown(lines[at + 1]), "cells": []})
            at += 1
        elif cell and rows:
            family, qualifier, day, micros = cell.groups()
            seconds = calendar.timegm(time.strptime(day.decode(), "%Y/%m/%d-%H:%M:%S"))
            at += 1
            rows[-1]["cells"].append([family.decode(), shown(qualifier),
                                      seconds * 1000000 + int(micros), shown(unquoted(lines[at]))])
        at += 1
    return [row for row in rows if row["cells"]]


def listed(output):
    """What stands under a rule of dashes: by its first word the rest of the line."""
    lines = output.decode().splitlines()
    rules = [i for i, line in enumerate(lines) if line.startswith("---")]
    words = [line.split(None, 1) for line in lines[rules[0] + 1 if rules else 0:] if line.strip()]
    return {first.rsplit("/", 1)[-1]: "".join(rest).strip() for first, *rest in words}


# --- tables ---------------------------------------------------------------------------------------


def policy(gc):
    """As cbt writes a rule: terms joined by one kind of word."""
    if not gc:
        return "never"
    if "versions" in gc:
        return f"maxversions={gc['versions']}"
    if "ageSeconds" in gc:
        return f"maxage={gc['ageSeconds'] // 3600}h"
    (kind, parts), = gc.items()
    if any("union" in part or "intersection" in part for part in parts):
        raise Lacks("rules inside of rules")
    return (" or " if kind == "union" else " and ").join(policy(part) for part in parts)


def family_word(name, family):
    if family.get("type") == "byteshll":
        raise Lacks("sketches of bytes")
    kind = f":{family['type']}" if family.get("type") else ""
    return f"{name}:{policy(family.get('gc'))}{kind}"


def create_table(place, step):
    if step.get("protected"):
        raise Lacks("deletion protection")
    words = ["families=" + ",".join(family_word(n, f) for n, f in step["families"].items())]
    if step.get("splits"):
        words.append("splits=" + ",".join(text_of(key) for key in step["splits"]))
    cbt(place, "createtable", step["table"], *words)
    return {}


def get_table(place, step):
    if "view" in step:
        raise Lacks("other views of a table")
    return {"protected": None, "families": cbt(place, "ls", step["table"]).decode().splitlines()}


def list_tables(place, step):
    if "pageSize" in step:
        raise Lacks("the size of pages")
    return {"tables": sorted(cbt(place, "ls").decode().split())}


def modify_families(place, step):
    if len(step["modifications"]) != 1:
        raise Lacks("changes of several families in one call")
    change, = step["modifications"]
    if "create" in change:
        cbt(place, "createfamily", step["table"], family_word(change["create"], change))
    elif "update" in change:
        cbt(place, "setgcpolicy", step["table"], change["update"], *policy(change["gc"]).split())
    else:
        cbt(place, "deletefamily", step["table"], change["drop"])
    return {}


def delete_table(place, step):
    cbt(place, "deletetable", step["table"])
    return {}


def drop_rows(place, step):
    if not step.get("all"):
        raise Lacks("dropping rows of a prefix")
    cbt(place, "deleteallrows", step["table"])
    return {}


def consistency(place, step):
    cbt(place, "waitforreplication", step["table"])
    return {"consistent": True}


# --- rows -----------------------------------------------------------------------------------------


def cell_word(cell, value):
    qualifier = text_of(cell["qualifier"])
    if "=" in qualifier or "@" in str(value) or cell["timestamp"] < 0:
        raise Lacks("such a qualifier, value or time")
    return f"{cell['family']}:{qualifier}={value}@{cell['timestamp']}"


def through(step):
    return [f"app-profile={step['through']}"] if "through" in step else []


def mutate_row(place, step):
    row, mutations = text_of(step["row"]), step["mutations"]
    kinds = {kind for mutation in mutations for kind in mutation}
    if any("bytes" in m.get("add", {}) for m in mutations):
        raise Lacks("adding bytes")
    if kinds == {"set"}:
        cbt(place, "set", step["table"], row, *through(step),
            *[cell_word(m["set"], text_of(m["set"]["value"])) for m in mutations])
    elif kinds == {"add"}:
        cbt(place, "addtocell", step["table"], row, *through(step),
            *[cell_word(m["add"], m["add"]["input"]) for m in mutations])
    elif kinds == {"deleteRow"}:
        cbt(place, "deleterow", step["table"], row)
    elif kinds == {"deleteColumn"} and len(mutations) == 1:
        cell = mutations[0]["deleteColumn"]
        if "start" in cell or "end" in cell:
            raise Lacks("deleting versions of a column")
        cbt(place, "deletecolumn", step["table"], row, cell["family"], text_of(cell["qualifier"]))
    else:
        raise Lacks("such a change of a row")
    return {}


FILTERS = {"rowKeyRegex": lambda v: f"regex={text_of(v)}",
           "cellsPerColumnLimit": lambda v: f"cells-per-column={v}"}


def filter_words(step, known):
    if "filter" not in step:
        return []
    (name, value), = step["filter"].items()
    if name not in known:
        raise Lacks(f"a filter {name}")
    return [FILTERS[name](value)]


def read_row(place, step):
    rows = rows_of(cbt(place, "lookup", step["table"], text_of(step["row"]), *through(step),
                       *filter_words(step, ["cellsPerColumnLimit"])))
    return {"row": rows[0] if rows else None}


def read_rows(place, step):
    if "keys" in step or "stats" in step or "deadlineMs" in step:
        raise Lacks("such a read")
    words = filter_words(step, ["rowKeyRegex", "cellsPerColumnLimit"])
    parts = step.get("ranges", []) + step.get("prefixes", [])
    if len(parts) > 1:
        raise Lacks("several ranges in one read")
    for bounds in step.get("ranges", []):
        if bounds.get("startOpen") or bounds.get("endClosed"):
            raise Lacks("ranges other than closed, open")
        words += [f"{name}={text_of(bounds[name])}" for name in ("start", "end") if name in bounds]
    words += [f"prefix={text_of(prefix)}" for prefix in step.get("prefixes", [])]
    words += [f"count={step['limit']}"] if "limit" in step else []
    words += ["reversed=true"] if step.get("reversed") else []
    output = cbt(place, "read", step["table"], *words)
    if re.search(rb"[^\x20-\x7e\n]", output):
        raise Lacks("keys and qualifiers that are no plain text, in what it prints")
    return {"rows": rows_of(output)}


# --- instances ------------------------------------------------------------------------------------


def create_instance(place, step):
    cbt(place, "createinstance", step["instance"], step["displayName"], step["cluster"],
        step["zone"], str(step["nodes"]), "SSD")
    return {}


def delete_instance(place, step):
    cbt(place, "deleteinstance", step["instance"])
    return {}


def list_instances(place, _):
    return {"instances": sorted(listed(cbt(place, "listinstances")))}


def get_instance(place, step):
    """As it is listed: there is no command for one."""
    found = listed(cbt(place, "listinstances"))
    if step["instance"] not in found:
        raise Failed("rpc error: code = NotFound desc = it is not listed")
    return {"id": step["instance"], "displayName": found[step["instance"]]}


def of(place, step):
    return f"{place.split('/')[0]}/{step['instance']}"


def create_cluster(place, step):
    cbt(of(place, step), "createcluster", step["cluster"], step["zone"], str(step["nodes"]), "SSD")
    return {}


def list_clusters(place, step):
    return {"clusters": sorted(listed(cbt(of(place, step), "listclusters")))}


def get_cluster(place, step):
    info = listed(cbt(of(place, step), "listclusters"))[step["cluster"]]
    return {"id": step["cluster"], "nodes": int(re.search(r"\((\d+) serve nodes\)", info).group(1))}


def update_cluster(place, step):
    cbt(of(place, step), "updatecluster", step["cluster"], f"num-nodes={step['nodes']}")
    return {}


def delete_cluster(place, step):
    cbt(of(place, step), "deletecluster", step["cluster"])
    return {}


# --- profiles -------------------------------------------------------------------------------------


def routing_words(routing):
    if routing == "any":
        return ["route-any"]
    words = [f"route-to={routing['cluster']}"]
    return words + ["transactional-writes=true"] if routing["transactions"] else words


def create_profile(place, step):
    cbt(place, "createappprofile", step["instance"], step["profile"], step["description"],
        *routing_words(step["routing"]))
    return {}


def get_profile(place, step):
    output = cbt(place, "getappprofile", step["instance"], step["profile"]).decode()
    shown_ = dict(re.findall(r"^(\w+): (.*)$", output, re.MULTILINE))
    cluster = re.search(r'cluster_id:"([^"]+)"', shown_["RoutingPolicy"])
    routing = {"cluster": cluster.group(1),
               "transactions": "allow_transactional_writes:true" in shown_["RoutingPolicy"]} \
        if cluster else "any"
    return {"id": shown_["Name"].rsplit("/", 1)[1], "description": shown_["Description"],
            "routing": routing}


def list_profiles(place, step):
    return {"profiles": sorted(listed(cbt(place, "listappprofile", step["instance"])))}


def update_profile(place, step):
    """Where it routes to is always said too: as it is."""
    routing = get_profile(place, step)["routing"]
    cbt(place, "updateappprofile", step["instance"], step["profile"], step["description"],
        *routing_words(routing))
    return {}


def delete_profile(place, step):
    cbt(place, "deleteappprofile", step["instance"], step["profile"])
    return {}


ACTIONS = {
    "createTable": create_table, "getTable": get_table, "listTables": list_tables,
    "modifyFamilies": modify_families, "deleteTable": delete_table, "dropRows": drop_rows,
    "consistency": consistency, "mutateRow": mutate_row, "readRow": read_row, "readRows": read_rows,
    "createInstance": create_instance, "deleteInstance": delete_instance,
    "getInstance": get_instance, "listInstances": list_instances, "createCluster": create_cluster,
    "getCluster": get_cluster, "listClusters": list_clusters, "updateCluster": update_cluster,
    "deleteCluster": delete_cluster, "createProfile": create_profile, "getProfile": get_profile,
    "listProfiles": list_profiles, "updateProfile": update_profile, "deleteProfile": delete_profile,
}


def code_of(name):
    """INVALID_ARGUMENT for Go's InvalidArgument."""
    if name == "Canceled":
        return "CANCELLED"
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).upper()


def outcome_of(step, default):
    try:
        if step["do"] not in ACTIONS:
            raise Lacks(step["do"])
        return {"result": ACTIONS[step["do"]](step.get("in", default), step)}
    except Lacks as lack:
        return {"lacks": str(lack)}
    except Failed as failed:
        said = CODE.search(str(failed))
        if said:
            return {"error": {"code": code_of(said.group(1)), "text": said.group(2)}}
        return {"refused": str(failed)[-600:]}
    except subprocess.TimeoutExpired:
        return {"refused": f"no end within {COMMAND_SECONDS} s"}


for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps({"step": asked["step"], **outcome_of(asked, f"{sys.argv[1]}/{sys.argv[2]}")}),
          flush=True)
