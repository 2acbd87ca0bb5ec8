#!/usr/bin/env python3
"""Writes schema.txt: what protobuf bodies of built-in kinds hold, read from the Go types of k8s.io/api.

Usage: schema.py GOMODCACHE API_VERSION > schema.txt      (for example: /root/go/pkg/mod v0.37.2)

A line is a message: its name, then its fields as `json=number:kind`. A kind is s string, b bool, i integer, d double,
y bytes, t Time, u MicroTime, q Quantity, x IntOrString, r raw JSON, w list of strings in a message, m<name> message.
Before it: `*` repeated, `%` map with string keys. Behind it: `!` a pointer, `?` left out of JSON when zero.
An inlined message has no JSON name.
"""
import pathlib
import re
import sys

root, version = pathlib.Path(sys.argv[1]) / "k8s.io", sys.argv[2]
PACKAGES = {  # Go path: the name of the group in the schema
    "core/v1": ("v1", "api"), "apps/v1": ("apps/v1", "api"), "batch/v1": ("batch/v1", "api"),
    "autoscaling/v1": ("autoscaling/v1", "api"), "autoscaling/v2": ("autoscaling/v2", "api"),
    "policy/v1": ("policy/v1", "api"), "coordination/v1": ("coordination.k8s.io/v1", "api"),
    "discovery/v1": ("discovery.k8s.io/v1", "api"), "events/v1": ("events.k8s.io/v1", "api"),
    "networking/v1": ("networking.k8s.io/v1", "api"), "rbac/v1": ("rbac.authorization.k8s.io/v1", "api"),
    "storage/v1": ("storage.k8s.io/v1", "api"), "scheduling/v1": ("scheduling.k8s.io/v1", "api"),
    "scheduling/v1alpha3": ("scheduling.k8s.io/v1alpha3", "api"),
    "admissionregistration/v1": ("admissionregistration.k8s.io/v1", "api"),
    "authentication/v1": ("authentication.k8s.io/v1", "api"),
    "authorization/v1": ("authorization.k8s.io/v1", "api"),
    "pkg/apis/meta/v1": ("meta/v1", "apimachinery"),
}
SPECIAL = {
    "metav1.Time": "t", "metav1.MicroTime": "u", "resource.Quantity": "q", "intstr.IntOrString": "x",
    "runtime.RawExtension": "r", "metav1.FieldsV1": "r", "types.UID": "s", "metav1.Verbs": "w",
}
SCALAR = {"string": "s", "bool": "b", "int32": "i", "int64": "i", "int": "i", "uint8": "i", "float64": "d"}

structs, aliases, imports = {}, {}, {}
for path, (group, module) in PACKAGES.items():
    imports[group] = {}
    for file in sorted((root / f"{module}@{version}" / path).glob("*.go")):
        text = file.read_text()
        if not file.name.startswith("types") and file.name != "watch.go":
            continue
        for alias, target in re.findall(r'^\s+(\w*)\s*"k8s\.io/(?:api|apimachinery)/([\w/]+)"', text, re.M):
            if target in PACKAGES:
                imports[group][alias or target.split("/")[-1]] = PACKAGES[target][0]
        for name, body in re.findall(r"^type (\w+) struct \{\n(.*?)^\}", text, re.M | re.S):
            structs[(group, name)] = body
        for name, target in re.findall(r"^type (\w+) ((?:map\[\w+\]|\[\])?[\w.]+)$", text, re.M):
            aliases[(group, name)] = target
        for block in re.findall(r"^type \((.*?)^\)", text, re.M | re.S):
            for name, target in re.findall(r"^\s+(\w+) ([\w.]+)$", block, re.M):
                aliases[(group, name)] = target

FIELD = re.compile(r'^\s+(?:(\w+)\s+)?([\w.*\[\]]+)\s+`([^`]*)`', re.M)


def resolve(group, kind):
    """Prefix and kind of a Go type."""
    kind = kind.lstrip("*")
    if kind == "[]byte":
        return "", "y"
    if kind.startswith("[]"):
        _, inner = resolve(group, kind[2:])
        return "*", inner
    if found := re.match(r"map\[[\w.]+\](.*)", kind):
        _, inner = resolve(group, found[1])
        return "%", inner
    if group == "meta/v1" and "metav1." + kind in SPECIAL:
        return "", SPECIAL["metav1." + kind]
    if kind in SPECIAL:
        return "", SPECIAL[kind]
    if kind in SCALAR:
        return "", SCALAR[kind]
    if "." in kind:
        package, name = kind.split(".")
        return resolve(imports[group].get(package, package), name)
    if (group, kind) in structs:
        return "", f"m{group}.{kind}"
    if (group, kind) in aliases:
        target = aliases[(group, kind)]
        if target == "[]string":
            return "", "w"
        return resolve(group, target)
    raise LookupError(f"unknown type {kind} in {group}")


print(f"# Made by schema.py from k8s.io/api {version}; see there for what a line says.")
for (group, name), body in sorted(structs.items()):
    fields = []
    for field, kind, tags in FIELD.findall(body):
        json = re.search(r'json:"([^"]*)"', tags)
        proto = re.search(r'protobuf:"\w+,(\d+)', tags)
        if not proto or not json:
            continue
        words = json[1].split(",")
        try:
            prefix, resolved = resolve(group, kind)
        except LookupError as unknown:
            print(f"left out: {group}.{name}.{field}: {unknown}", file=sys.stderr)
            continue
        shown = words[0] if "inline" not in words else ""
        flags = ("!" if kind.startswith("*") else "") + ("?" if "omitempty" in words else "")
        fields.append(f"{shown}={proto[1]}:{prefix}{resolved}{flags}")
    print(f"{group}.{name}", *fields)
