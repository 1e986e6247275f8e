"""The chart's README: each value of values.yaml with its default and the comment above it. Fails where there is none."""

import json
import pathlib
import re

import yaml

CHART = pathlib.Path(__file__).resolve().parents[2] / "deploy/chart"
TEXT = (CHART / "values.yaml").read_text()
SCHEMA = json.loads((CHART / "values.schema.json").read_text())


def said_above(line):
    """The comment that ends above this line."""
    said, lines = [], TEXT.splitlines()
    while line and (comment := re.match(r"^ *# (.*)$", lines[line := line - 1])):
        said.insert(0, comment[1])
    return " ".join(said)


def rows(path, nodes, values, known):
    """Path, default and comment of each value; `nodes` know where it stands."""
    assert set(values) == set(known), f"{path}: values.yaml and its schema differ: {set(values) ^ set(known)}"
    for key, inner in nodes.value:
        value, schema = values[key.value], known[key.value]
        if "$ref" in schema:
            schema = SCHEMA["definitions"][schema["$ref"].rsplit("/", 1)[1]]
        here, said = f"{path}{key.value}", said_above(key.start_mark.line)
        # What has no properties of its own is as Kubernetes has it: labels, tolerations, requests.
        kinds = value and schema.get("properties")
        if not kinds:
            assert said, f"values.yaml does not say what {here} is for"
            yield f"| `{here}` | `{json.dumps(value)}` | {said} |"
            continue
        if said:
            yield f"| `{here}` | | {said} |"
        yield from rows(f"{here}.", inner, value, kinds)


def readme():
    head = ["# The chart", "", "Made from `values.yaml` by `tests/chart/run.sh --write`. How to install: "
            "[deploy/README.md](../README.md).", "", "| value | default | |", "|---|---|---|"]
    table = rows("", yaml.compose(TEXT), yaml.safe_load(TEXT), SCHEMA["properties"])
    return "deploy/chart/README.md", "\n".join([*head, *table]) + "\n"
