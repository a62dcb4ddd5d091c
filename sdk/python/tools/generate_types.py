"""Writes `src/kennel_client/types.py` from the description of the API.

    python tools/generate_types.py           write it
    python tools/generate_types.py --check   say whether it is as it would be written

An object becomes a `TypedDict`, a choice of texts a `Literal`, a choice of objects a `Union`. What this does not know
it refuses, so that nothing is left out in silence.
"""

from __future__ import annotations

import json
import keyword
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
DESCRIPTION = HERE.parents[2] / "crates/kennel-http/openapi.json"
TYPES = HERE.parent / "src/kennel_client/types.py"

HEAD = '''"""What the API sends and takes. Made from its description by `tools/generate_types.py`: not to be edited."""

from __future__ import annotations

from typing import Any, Dict, List, Literal, Tuple, TypedDict, Union
'''

# Annotations only: `None` may be written with `|` in them, whatever the version of Python.
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
# Say nothing about the type.
REMARKS = {"description", "default", "format", "minimum", "maximum", "pattern", "maxLength", "minLength", "title", "examples"}

Schema = Any


class Unknown(Exception):
    """A schema that is not known here."""


class Module:
    """The types, as they are made."""

    def __init__(self) -> None:
        self.classes: list[str] = []
        self.aliases: dict[str, tuple[str, set[str]]] = {}

    def add(self, name: str, schema: Schema) -> None:
        if is_object(schema):
            self.add_object(name, schema)
        else:
            self.aliases[name] = (self.type_of(name, schema, lazy=False), set(references(schema)))
            if about := schema.get("description"):
                self.aliases[name] = (self.aliases[name][0] + "\n" + docstring(about, ""), self.aliases[name][1])

    def add_object(self, name: str, schema: Schema) -> None:
        """A class; two if some fields may be left out: `NotRequired` is not there before Python 3.11."""
        fields: dict[str, Schema] = schema.get("properties", {})
        required = set(schema.get("required", []))
        unknown = set(schema) - REMARKS - {"type", "properties", "required", "additionalProperties"}
        if unknown:
            raise Unknown(f"{name}: {sorted(unknown)}")
        about = schema.get("description", "")
        needed = {key: value for key, value in fields.items() if key in required}
        others = {key: value for key, value in fields.items() if key not in required}
        if needed and others:
            base = f"_{name}Required"
            self.classes.append(self.class_of(base, "TypedDict", "", needed, name))
            self.classes.append(self.class_of(name, f"{base}, total=False", about, others, name))
        else:
            total = "" if needed or not others else ", total=False"
            self.classes.append(self.class_of(name, f"TypedDict{total}", about, fields, name))

    def class_of(self, name: str, base: str, about: str, fields: dict[str, Schema], owner: str) -> str:
        lines = [f"class {name}({base}):"]
        if about:
            lines.append(docstring(about, "    "))
        for key, schema in fields.items():
            if not key.isidentifier() or keyword.iskeyword(key):
                raise Unknown(f"{owner}.{key} is no name in Python")
            lines.append(f"    {key}: {self.type_of(owner + camel(key), schema, lazy=True)}")
            if about := schema.get("description"):
                lines.append(docstring(about, "    "))
        return "\n".join(lines if len(lines) > 1 else [*lines, "    pass"])

    def type_of(self, name: str, schema: Schema, *, lazy: bool) -> str:
        """The type; what has no name of its own gets this one. A lazy one is never evaluated."""
        if schema is True or schema == {}:
            return "Any"
        if "$ref" in schema:
            return str(schema["$ref"]).rsplit("/", 1)[1]
        for choice in ("oneOf", "anyOf"):
            if choice in schema:
                # Fields that every one of them has besides.
                shared = {key: value for key, value in schema.items() if key in ("properties", "required")}
                return self.choice(name, [merged(item, shared) for item in schema[choice]], lazy=lazy)
        if "const" in schema:
            return f"Literal[{schema['const']!r}]"
        if "enum" in schema:
            return "Literal[" + ", ".join(repr(item) for item in schema["enum"]) + "]"
        kind = schema.get("type")
        if isinstance(kind, list):
            # What the items are says nothing about null.
            alone = {key: value for key, value in schema.items() if key != "items"}
            one_each = [{**(schema if one == "array" else alone), "type": one} for one in kind]
            return self.choice(name, one_each, lazy=lazy)
        if kind == "array":
            return self.array(name, schema, lazy=lazy)
        if kind == "object":
            values = schema.get("additionalProperties")
            patterns = list(schema.get("patternProperties", {}).values())
            if values is False and len(patterns) == 1:
                [values] = patterns
            if "properties" not in schema:
                inner = "Any" if values in (None, True) else self.type_of(name + "Value", values, lazy=lazy)
                return f"Dict[str, {inner}]"
            self.add_object(name, schema)
            return name
        if kind in PLAIN and set(schema) - REMARKS <= {"type"}:
            return PLAIN[kind]
        raise Unknown(f"{name}: {json.dumps(schema)[:200]}")

    def array(self, name: str, schema: Schema, *, lazy: bool) -> str:
        if "prefixItems" in schema:
            items = [self.type_of(f"{name}{at}", item, lazy=lazy) for at, item in enumerate(schema["prefixItems"])]
            return f"Tuple[{', '.join(items)}]"
        return f"List[{self.type_of(name + 'Item', schema.get('items', {}), lazy=lazy)}]"

    def choice(self, name: str, options: list[Schema], *, lazy: bool) -> str:
        types: list[str] = []
        for option in options:
            made = self.type_of(name + tag(option), option, lazy=lazy)
            if made not in types:
                types.append(made)
        texts = [one[len("Literal[") : -1] for one in types if one.startswith("Literal[")]
        rest = [one for one in types if not one.startswith("Literal[")]
        all_of_them = ([f"Literal[{', '.join(texts)}]"] if texts else []) + rest
        if len(all_of_them) == 1:
            return all_of_them[0]
        return " | ".join(all_of_them) if lazy else f"Union[{', '.join(all_of_them)}]"

    def text(self) -> str:
        parts = [HEAD, *self.classes]
        done: set[str] = set()
        waiting = dict(self.aliases)
        while waiting:
            ready = [name for name, (_, needs) in waiting.items() if not (needs & set(self.aliases)) - done]
            if not ready:
                raise Unknown(f"in a circle: {sorted(waiting)}")
            for name in sorted(ready):
                parts.append(f"{name} = {waiting.pop(name)[0]}")
                done.add(name)
        return "\n\n\n".join(part.strip("\n") for part in parts) + "\n"


def is_object(schema: Schema) -> bool:
    return schema.get("type") == "object" and "properties" in schema and "oneOf" not in schema and "anyOf" not in schema


def merged(option: Schema, shared: Schema) -> Schema:
    if not shared or "properties" not in option:
        return option
    fields = {**shared.get("properties", {}), **option["properties"]}
    return {**option, "properties": fields, "required": [*shared.get("required", []), *option.get("required", [])]}


def tag(option: Schema) -> str:
    """What tells it from the others: the fixed value of a field, else the field that it must have."""
    fields = option.get("properties", {}) if isinstance(option, dict) else {}
    for field in fields.values():
        if "const" in field:
            return camel(str(field["const"]))
    required = option.get("required", []) if isinstance(option, dict) else []
    return camel(required[0]) if required else ""


def references(schema: Schema) -> list[str]:
    if isinstance(schema, dict):
        own = [str(schema["$ref"]).rsplit("/", 1)[1]] if "$ref" in schema else []
        return own + [name for value in schema.values() for name in references(value)]
    if isinstance(schema, list):
        return [name for value in schema for name in references(value)]
    return []


def camel(text: str) -> str:
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[^A-Za-z0-9]+", text))


def docstring(text: str, indent: str) -> str:
    text = " ".join(text.split()).replace("\\", "\\\\").replace('"""', "'''")
    lines = textwrap.wrap(f'"""{text}', width=116 - len(indent), break_long_words=False)
    lines[-1] += ' """' if lines[-1].endswith('"') else '"""'
    return "\n".join(indent + line for line in lines)


def generate(description: Schema) -> str:
    module = Module()
    for name, schema in sorted(description["components"]["schemas"].items()):
        module.add(name, schema)
    return module.text()


def main(arguments: list[str]) -> int:
    made = generate(json.loads(DESCRIPTION.read_text()))
    if arguments == ["--check"]:
        if not TYPES.exists() or TYPES.read_text() != made:
            print(f"{TYPES.name} is not what the description of the API says: run tools/generate_types.py", file=sys.stderr)
            return 1
        return 0
    if arguments:
        print(__doc__, file=sys.stderr)
        return 2
    TYPES.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
