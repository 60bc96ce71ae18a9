#!/usr/bin/env python3
"""Checks a JSON document on stdin against a schema file: the part of JSON Schema that the schemas in docs/schemas use.
usage: check_schema.py SCHEMA.json <document.json     Prints every violation; ends with 1 if there is one."""

import json
import sys

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
KNOWN = {"$schema", "$id", "$defs", "$ref", "title", "description", "type", "const", "enum", "required", "properties",
         "additionalProperties", "items", "minimum", "maximum", "exclusiveMinimum"}


def has_type(value, name):
    if name in ("number", "integer"):
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return number and (name == "number" or float(value).is_integer())
    return isinstance(value, TYPES[name])


def check(value, schema, root, path):
    unknown = set(schema) - KNOWN
    if unknown:
        yield f"{path}: the schema uses {sorted(unknown)}, which this checker does not know"
    if "$ref" in schema:
        target = root
        for part in schema["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        yield from check(value, target, root, path)
    names = schema.get("type", [])
    names = [names] if isinstance(names, str) else names
    if names and not any(has_type(value, name) for name in names):
        yield f"{path}: {json.dumps(value)[:60]} is not of type {' or '.join(names)}"
        return
    if "const" in schema and value != schema["const"]:
        yield f"{path}: {value!r} is not {schema['const']!r}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{path}: {value!r} is not one of {schema['enum']}"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if value < schema.get("minimum", value) or value > schema.get("maximum", value):
            yield f"{path}: {value} is out of range"
        if "exclusiveMinimum" in schema and value <= schema["exclusiveMinimum"]:
            yield f"{path}: {value} is not above {schema['exclusiveMinimum']}"
    if isinstance(value, dict):
        yield from check_object(value, schema, root, path)
    if isinstance(value, list) and "items" in schema:
        for index, item in enumerate(value):
            yield from check(item, schema["items"], root, f"{path}[{index}]")


def check_object(value, schema, root, path):
    for key in schema.get("required", []):
        if key not in value:
            yield f"{path}: no '{key}'"
    properties, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    for key, member in value.items():
        if key in properties:
            yield from check(member, properties[key], root, f"{path}.{key}")
        elif others is False:
            yield f"{path}: '{key}' is not allowed"
        elif isinstance(others, dict):
            yield from check(member, others, root, f"{path}.{key}")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        schema = json.load(file)
    violations = list(check(json.load(sys.stdin), schema, schema, "$"))
    for violation in violations:
        print(violation)
    print(f"{schema['$id']}: {'valid' if not violations else f'{len(violations)} violations'}")
    return 1 if violations else 0


sys.exit(main())
