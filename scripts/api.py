#!/usr/bin/env python3
"""The reference of the C library from its headers, by doxygen (`make api`). Usage: api.py FOLDER

Fails on a warning of doxygen, on a public function, struct, enum or type that is missing or says nothing, on a header
that the first page does not name, and on one whose opening comment is not on its page.
"""
import html
import re
import subprocess
import sys
import xml.etree.ElementTree as xml
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def version() -> str:
    text = (ROOT / "include/hvi/version.h").read_text()
    return ".".join(re.search(rf"HVI_VERSION_{part} (\d+)", text).group(1) for part in ("MAJOR", "MINOR", "PATCH"))


def words(node) -> str:
    """The text of a description, without blanks."""
    return "".join("".join(part.itertext()) for kind in ("briefdescription", "detaileddescription")
                   for part in node.findall(kind)).strip()


def build(folder: Path) -> None:
    names = subprocess.run([sys.executable, ROOT / "scripts/abi.py", "--root", ROOT, "--names"],
                           check=True, text=True, capture_output=True).stdout
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "names.txt").write_text(names)
    example = re.search(r"^```c\n(.*?)^```", (ROOT / "README.md").read_text(), re.S | re.M).group(1)
    (folder / "first.c").write_text(example)
    settings = (ROOT / "cmake/api/Doxyfile").read_text() + f"""
PROJECT_NUMBER = {version()}
OUTPUT_DIRECTORY = "{folder}"
EXAMPLE_PATH = "{folder}"
FILTER_PATTERNS = *.h="awk -v names={folder}/names.txt -f scripts/api-filter.awk"
"""
    subprocess.run(["doxygen", "-"], input=settings, text=True, check=True, cwd=ROOT)


def told(folder: Path) -> dict:
    """What the reference has: "kind name" and what is said of it."""
    found = {}
    for path in (folder / "xml").glob("*.xml"):
        for compound in xml.parse(path).getroot().iter("compounddef"):
            kind, name = compound.get("kind"), compound.findtext("compoundname")
            if kind in ("struct", "file"):
                found[f"{kind} {name}"] = words(compound)
            for member in compound.iter("memberdef"):
                kind = {"typedef": "type"}.get(member.get("kind"), member.get("kind"))
                found[f"{kind} {member.findtext('name')}"] = words(member)
                for value in member.iter("enumvalue"):
                    found[f"value {value.findtext('name')}"] = words(value)
    return found


def objections(folder: Path) -> list:
    found, said = told(folder), []
    for line in (folder / "names.txt").read_text().splitlines():
        kind = line.split()[0]
        if line not in found:
            said.append(f"missing: {line}")
        elif kind == "function" and not found[line]:
            said.append(f"without a word: {line}")
    first = (ROOT / "cmake/api/main.dox").read_text()
    for header in sorted((ROOT / "include/hvi").glob("*.h")):
        page = folder / "html" / (header.name.replace("_", "__").replace(".", "_8") + ".html")
        shown = re.sub(r"\W+", "", html.unescape(re.sub(r"<[^>]*>", "", page.read_text()))) if page.exists() else ""
        opening = re.match(r"/\*(.*?)\*/", header.read_text(), re.S).group(1)
        opening = re.sub(r"^ \*", "", opening, flags=re.M)
        # the whole comment: words, mathematics and all, in their order
        if re.sub(r"\W+", "", opening) not in shown:
            said.append(f"{header.name}: its opening comment is not on its page")
        if not re.search(rf"\b{header.name}\b", first):
            said.append(f"{header.name}: not on the first page")
    return said


def main() -> int:
    folder = Path(sys.argv[1]).resolve()
    build(folder)
    said = objections(folder)
    print("\n".join(said) if said else f"{folder}/html/index.html: {len((folder / 'names.txt').read_text().splitlines())} names")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
