"""Check that the description is whole: every operation is named and shown, every example fits its own schema."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs

VERBS = ("get", "put", "post", "delete", "patch")

document: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text())
components = document["components"]


def resolved(item: dict[str, Any]) -> dict[str, Any]:
    """Follow a reference to a component."""
    while "$ref" in item:
        _, _, kind, name = item["$ref"].split("/")
        item = components[kind][name]
    return item


def shown() -> Iterator[tuple[str, dict[str, Any], Any]]:
    """Give every example with its place and its schema."""
    for kind in ("parameters", "headers"):
        for name, item in components[kind].items():
            if "example" in item:
                yield f"{kind} {name}", item["schema"], item["example"]
            elif kind == "headers" or item["required"]:
                complaints.append(f"{kind} {name} has no example")
    for path, operations in document["paths"].items():
        for verb in VERBS:
            if verb not in operations:
                continue
            operation, place = operations[verb], f"{verb.upper()} {path}"
            for parameter in map(resolved, operation.get("parameters", [])):
                if "example" in parameter:
                    yield f"{place} {parameter['name']}", parameter["schema"], parameter["example"]
                elif parameter["required"]:
                    complaints.append(f"{place}: the parameter {parameter['name']} is required and has no example")
            contents = [("body", operation["requestBody"])] if "requestBody" in operation else []
            contents += list(operation["responses"].items())
            for name, holder in contents:
                for media, content in holder.get("content", {}).items():
                    if "example" in content:
                        yield f"{place} {name} {media}", content["schema"], content["example"]
                    elif media == "application/json":
                        complaints.append(f"{place}: {name} has no example")


complaints: list[str] = []
number = 0
for place, schema, example in shown():
    number += 1
    validator = jsonschema_rs.Draft202012Validator({"allOf": [schema], "components": components}, validate_formats=True)
    complaints += [
        f"{place}: {error.message} at {list(error.instance_path)}" for error in validator.iter_errors(example)
    ]
for complaint in complaints:
    print(complaint)
print(f"description: {number} examples fit their schemas" if not complaints else f"{len(complaints)} complaints")
sys.exit(bool(complaints))
