#!/usr/bin/env python3
"""The binary interface of libhvi, from its headers: layouts, values of enums, signatures, exported names.

Usage: abi.py [--root TREE] [--library libhvi.so]     compares with tests/golden/abi.txt
       abi.py [--root TREE] --write                   records what is there, where the numbers allow it

What is recorded and gone breaks programs and plug-ins that were compiled before. Then HVI_PLUGIN_ABI must be another,
and after a release the SONAME too. What is only new must be recorded. The headers are read by pycparser, which
python3-cffi brings; sizes, offsets and values are those of the compiler (CC, or cc).
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from pycparser import c_ast, c_generator, c_parser

SYSTEM = "typedef unsigned long size_t; typedef unsigned long uint64_t; typedef long int64_t; typedef unsigned uint32_t;" \
         "typedef int int32_t; typedef unsigned char uint8_t; typedef _Bool bool; typedef struct FILE FILE;"
HEAD = "# The binary interface of libhvi on 64-bit Linux: `scripts/abi.py --write` records it, `make abi-check` compares.\n" \
       "# struct: size; member: offset, type; enum: value. What is new may be added, what is gone breaks programs.\n"


def declarations(root: Path) -> str:
    """All headers in the order in which they include each other, without comments and preprocessor lines."""
    seen, texts = set(), []

    def take(name: str) -> None:
        if name in seen:
            return
        seen.add(name)
        text = re.sub(r"/\*.*?\*/", "", (root / "include" / "hvi" / name).read_text(), flags=re.S)
        for other in re.findall(r"^#include <hvi/(\w+\.h)>", text, flags=re.M):
            take(other)
        text = re.sub(r"^#ifdef __cplusplus\n.*?^#endif\n", "", text, flags=re.S | re.M)
        text = re.sub(r"^#.*(\\\n.*)*\n", "", text, flags=re.M)
        texts.append(re.sub(r"__attribute__\(\(format[^;]*", "", text).replace("HVI_API ", ""))

    for header in sorted((root / "include" / "hvi").glob("*.h")):
        take(header.name)
    return SYSTEM + "".join(texts)


class Nameless(c_ast.NodeVisitor):
    """Takes the names out of a type, those of parameters too: they are no part of a binary interface."""

    def visit_TypeDecl(self, node):
        node.declname = None
        self.generic_visit(node)


def type_text(node) -> str:
    Nameless().visit(node)
    return re.sub(r"\s+", " ", c_generator.CGenerator().visit(node)).strip()


class Description:
    """Lines of text, and of the C program that fills in the numbers: `@0@` is the first that it prints."""

    def __init__(self, root: Path):
        self.lines, self.numbers, self.functions = [], [], []
        for node in c_parser.CParser().parse(declarations(root)).ext:
            if not str(getattr(node, "name", "") or "").startswith(("size_t", "uint", "int", "bool", "FILE")):
                self.declare(node)

    def number(self, expression: str) -> str:
        self.numbers.append(expression)
        return f"@{len(self.numbers) - 1}@"

    def declare(self, node) -> None:
        if isinstance(node, c_ast.Typedef):
            base = node.type.type if isinstance(node.type, c_ast.TypeDecl) else None
            if isinstance(base, (c_ast.Struct, c_ast.Union)):
                self.struct(node.name, base)
            elif isinstance(base, c_ast.Enum):
                self.enum(node.name, base)
            else:
                self.lines.append(f"type {node.name}: {type_text(node.type)}")
        elif isinstance(node.type, c_ast.FuncDecl):
            self.functions.append(node.name)
            result = node.type.type
            parameters = ", ".join(type_text(p) for p in (node.type.args.params if node.type.args else []))
            self.lines.append(f"function {node.name}({parameters}): {type_text(result)}")
        elif isinstance(node.type, c_ast.Enum):
            self.enum("int", node.type)
        elif isinstance(node.type, (c_ast.Struct, c_ast.Union)):
            self.struct(node.type.name, node.type)
        else:
            self.lines.append(f"object {node.name}: {type_text(node.type)}")

    def struct(self, name: str, node) -> None:
        if node.decls is None:
            return
        self.lines.append(f"struct {name} {self.number(f'sizeof({name})')}")
        self.members(name, name, "", node)

    def members(self, top: str, name: str, path: str, node) -> None:
        for member in node.decls:
            inner = member.type.type if isinstance(member.type, c_ast.TypeDecl) else member.type
            if member.name is None:
                self.members(top, name, path, inner)
                continue
            offset = self.number(f"offsetof({top}, {path}{member.name})")
            if isinstance(inner, (c_ast.Struct, c_ast.Union)) and inner.decls:
                size = self.number(f"sizeof((({top} *)0)->{path}{member.name})")
                self.lines.append(f"  {name}.{member.name} {offset} of {size} bytes")
                self.members(top, f"{name}.{member.name}", f"{path}{member.name}.", inner)
            else:
                self.lines.append(f"  {name}.{member.name} {offset} {type_text(member.type)}")

    def enum(self, name: str, node) -> None:
        for item in node.values.enumerators:
            if item.name != "HVI_PLUGIN_ABI":  # stands at the top
                self.lines.append(f"enum {name} {item.name} {self.number(item.name)}")

    def text(self, root: Path) -> str:
        asked = ["HVI_PLUGIN_ABI", "HVI_VERSION_MAJOR", "HVI_VERSION_MINOR", *self.numbers]
        rows = "".join(f"  (long long)({expression}),\n" for expression in asked)
        code = f"#include <hvi/hvi.h>\n#include <stdio.h>\nstatic const long long all[] = {{\n{rows}}};\n" \
               "int main(void) { for (size_t i = 0; i < sizeof all / sizeof *all; i++) printf(\"%lld\\n\", all[i]); }\n"
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "abi.c").write_text(code)
            subprocess.run([os.environ.get("CC", "cc"), "-std=c11", f"-I{root / 'include'}", "abi.c", "-o", "abi"],
                           cwd=folder, check=True)
            said = subprocess.run([f"{folder}/abi"], check=True, text=True, capture_output=True).stdout.split()
        plugin, major, minor, *values = said
        soname = major if major != "0" else f"0.{minor}"
        body = re.sub(r"@(\d+)@", lambda m: values[int(m.group(1))], "\n".join(self.lines))
        return f"{HEAD}soname libhvi.so.{soname}\nplug-in {plugin}\n{body}\n"


def parts(text: str):
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return lines[0], lines[1], lines[2:]


def objections(old: str, new: str, released: bool) -> list:
    """What keeps `new` from being recorded."""
    old_soname, old_plugin, before = parts(old)
    soname, plugin, now = parts(new)
    gone = [line.strip() for line in before if line not in set(now)]
    if not gone:
        return []
    said = [f"gone: {line}" for line in gone[:20]] + ([f"... and {len(gone) - 20} more"] if len(gone) > 20 else [])
    if plugin == old_plugin:
        return said + [f"This breaks plug-ins, and HVI_PLUGIN_ABI is still {plugin.split()[1]}: raise HVI_PLUGIN_REVISION "
                       "in include/hvi/plugin.h."]
    if released and soname == old_soname:
        return said + [f"This breaks programs, and {soname.split()[1]} is released: first "
                       "`scripts/release.sh VERSION unreleased` with the next minor version."]
    return []


def main() -> int:
    parser = argparse.ArgumentParser(description="the binary interface of libhvi against tests/golden/abi.txt")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--library", help="libhvi.so, whose exported names must be those of the headers")
    parser.add_argument("--write", action="store_true", help="record what is there")
    parser.add_argument("--names", action="store_true", help="print what is public: its kind and its name")
    a = parser.parse_args()
    root = a.root.resolve()
    description = Description(root)
    golden = root / "tests" / "golden" / "abi.txt"
    if a.names:
        found = re.findall(r"^(struct|function|type|enum) (\w+)(?: (\w+) @)?", "\n".join(description.lines), re.M)
        print("\n".join(sorted({f"{kind} {name}" for kind, name, _ in found if name != "int"} |
                               {f"value {value}" for kind, _, value in found if kind == "enum"})))
        return 0
    new = description.text(root)
    old = golden.read_text() if golden.exists() else new
    heading = next(line for line in (root / "CHANGELOG.md").read_text().splitlines() if line.startswith("## "))
    said = objections(old, new, "unreleased" not in heading)
    if a.library:
        table = subprocess.run(["nm", "-D", "--defined-only", a.library], check=True, text=True, capture_output=True).stdout
        exported = {line.split()[-1] for line in table.splitlines()}
        said += [f"not exported: {name}" for name in description.functions if name not in exported]
        said += [f"exported, but in no header: {name}" for name in sorted(exported - set(description.functions))]
    if not said and a.write:
        golden.write_text(new)
    elif not said and (old != new or not golden.exists()):
        changed = [line for line in new.splitlines() if line not in set(old.splitlines())]
        said = [f"new: {line.strip()}" for line in changed[:20]] + ["Nothing breaks: record it by `scripts/abi.py --write`."]
    print("\n".join(said), end="\n" if said else "")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
