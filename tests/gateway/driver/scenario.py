"""The scenario: a list of steps, read from JSON and checked before anything is started."""
import json

from . import notation

# What a runner knows, and what each needs.  README.md says what they mean and give.
ACTIONS = {
    "createTable": {"table", "families"}, "getTable": {"table"}, "listTables": set(),
    "modifyFamilies": {"table", "modifications"}, "protectTable": {"table", "protected"},
    "deleteTable": {"table"}, "dropRows": {"table"}, "consistency": {"table"},
    "mutateRow": {"table", "row", "mutations"}, "mutateRows": {"table", "entries"},
    "checkAndMutate": {"table", "row"}, "readModifyWrite": {"table", "row", "rules"},
    "readRow": {"table", "row"}, "readRows": {"table"}, "readSome": {"table", "count"},
    "sampleRowKeys": {"table"}, "ping": set(),
    "hllCount": {"table", "row", "family", "qualifier"},
    "hllMerge": {"table", "row", "family", "qualifier", "timestamp", "from", "to"},
    "createInstance": {"instance", "cluster"}, "getInstance": {"instance"}, "listInstances": set(),
    "updateInstance": {"instance", "displayName"}, "deleteInstance": {"instance"},
    "createCluster": {"instance", "cluster", "nodes"}, "getCluster": {"instance", "cluster"},
    "listClusters": {"instance"}, "updateCluster": {"instance", "cluster", "nodes"},
    "deleteCluster": {"instance", "cluster"},
    "createProfile": {"instance", "profile", "routing"}, "getProfile": {"instance", "profile"},
    "listProfiles": {"instance"}, "updateProfile": {"instance", "profile", "description"},
    "deleteProfile": {"instance", "profile"}, "hotTablets": {"instance", "cluster"},
}
# What the driver does itself.
OWN_ACTIONS = {"ebt": {"arguments"}, "ebtReads": {"table"}, "makeHot": {"table"}}

COMMON = {"name", "do", "expect", "clients", "refusable", "again", "why", "in", "large", "through"}
TO_RUNNERS = {"in", "large", "through"}  # of these
EXPECTATIONS = {"result", "error"}
TRIES_MAX = 5  # of a step that is done again


class Step:
    """One step.  `arguments` are as written; `given()` is the line for a runner."""

    def __init__(self, written):
        self.written = written
        self.name = written["name"]
        self.action = written["do"]
        self.arguments = {k: v for k, v in written.items() if k not in COMMON}
        self.is_refusable = written.get("refusable", False)
        self.tries = TRIES_MAX if written.get("again", False) else 1

    def is_own(self):
        return self.action in OWN_ACTIONS

    def expected(self, client):
        """For this client: {"result": ...} or {"error": ...}."""
        return self.written.get("clients", {}).get(client, self.written.get("expect", {"result": {}}))

    def refuses_protected(self):
        """Is it expected to fail because of what protectTable did?"""
        error = self.written.get("expect", {}).get("error", {})
        return self.action in ("deleteTable", "modifyFamilies") and \
            error.get("code") == "FAILED_PRECONDITION"

    def given(self):
        line = {"step": self.name, "do": self.action}
        line.update({name: self.written[name] for name in TO_RUNNERS if name in self.written})
        line.update(notation.for_runner(self.arguments))
        return line


def check(step):
    """Raises Mistake for a step that is none."""
    name = step.get("name", "(no name)")
    action = step.get("do")
    needs = ACTIONS.get(action, OWN_ACTIONS.get(action))
    if needs is None:
        raise notation.Mistake(f"{name}: nobody knows how to do {action!r}")
    missing = needs - set(step)
    if missing:
        raise notation.Mistake(f"{name}: {', '.join(sorted(missing))} is missing")
    for expected in [step.get("expect"), *step.get("clients", {}).values()]:
        if expected is not None and (len(expected) != 1 or not set(expected) <= EXPECTATIONS):
            raise notation.Mistake(f"{name}: expected is one of result and error")


def spread(node):
    """The same with every `add` of many inputs ({"from", "to"}) as that many."""
    if isinstance(node, dict):
        return {name: spread(value) for name, value in node.items()}
    if not isinstance(node, list):
        return node
    made = []
    for item in node:
        add = item.get("add", {}) if isinstance(item, dict) else {}
        if "to" not in add:
            made.append(spread(item))
            continue
        cell = {name: add[name] for name in ("family", "qualifier", "timestamp")}
        for number in range(add["from"], add["to"] + 1):
            many = {"bytes": f"{add['bytes']}{number}"} if "bytes" in add else {"input": number}
            made.append({"add": {**cell, **many}})
    return made


def substitute(node, words):
    """The same with every word of `words` in its texts replaced."""
    if isinstance(node, str):
        for word, text in words.items():
            node = node.replace(word, text)
        return node
    if isinstance(node, list):
        return [substitute(item, words) for item in node]
    if isinstance(node, dict):
        return {substitute(k, words): substitute(v, words) for k, v in node.items()}
    return node


def load(path, client):
    """The steps for a client, whose name stands where the scenario says $client."""
    with open(path, encoding="utf-8") as file:
        written = json.load(file)
    names = set()
    steps = []
    for part in written["parts"]:
        for step in part["steps"]:
            step = dict(step, name=f"{part['part']}: {step.get('name', '')}")
            check(step)
            if step["name"] in names:
                raise notation.Mistake(f"{step['name']}: two steps have this name")
            names.add(step["name"])
            steps.append(Step(spread(substitute(step, {"$client": client}))))
    return steps
