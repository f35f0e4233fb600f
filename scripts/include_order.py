#!/usr/bin/env python3
"""Checks who includes whom: the order of the layers, and that no file includes itself in a circle.

  scripts/include_order.py               checks this repository; exit status 1 and file:line on a violation
  scripts/include_order.py --root DIR    checks another tree
  scripts/include_order.py --self-test   checks that made-up violations are caught
"""

import argparse
import pathlib
import re
import sys
import tempfile

# The layers below each layer; "below" is transitive. docs/architecture.md says why.
DIRECTLY_BELOW = {
    "base": [],
    "graph": ["base"],
    "model": ["graph"],
    "program": ["graph"],
    "plan": ["program"],
    "device": ["program"],
    "tier": ["base"],
    "run": ["plan", "device", "tier"],
    "train": ["run", "model"],
}

# The layer that each public header include/vdnn/NAME.h belongs to.
PUBLIC_HEADERS = {
    "base": ["error", "bytes", "id", "interval", "version", "whole_file"],
    "graph": ["shape", "role", "attributes", "graph", "training_graph", "builder"],
    "model": ["zoo"],
    "program": ["program", "links", "stream"],
    "plan": ["plan", "explain", "timeline", "bounds"],
    "device": ["device"],
    "tier": ["tier"],
    "run": ["executor", "costs"],
    "train": ["dataset", "safetensors", "train", "session", "profile", "replan"],
}
UMBRELLA = "vdnn"  # includes every public header; only faces may include it

# Single public headers that a layer may include although their layer is not below it.
ALSO_ALLOWED = {("device", "vdnn/tier.h")}  # devices copy to and from tiers

# Folders, in src/ or beside it, that use vdnn as its users do: by public headers and their own.
FACES = ["cli", "python", "bench", "examples"]

SUFFIXES = {".h", ".cpp", ".cu", ".cuh"}
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')
LAYER_OF_HEADER = {f"vdnn/{name}.h": layer for layer, names in PUBLIC_HEADERS.items() for name in names}


def layers_below(layer):
    below = set()
    for direct in DIRECTLY_BELOW[layer]:
        below |= {direct} | layers_below(direct)
    return below


class Tree:
    """The sources under one root, named by their path from it, and what they include."""

    def __init__(self, root):
        self.root = root
        folders = [root / "src", root / "include" / "vdnn"] + [root / face for face in FACES]
        paths = sorted(path for folder in folders for path in folder.rglob("*") if path.suffix in SUFFIXES)
        self.files = {path.relative_to(root).as_posix() for path in paths}
        self.includes = {name: list(self._includes_of(name)) for name in sorted(self.files)}

    def _includes_of(self, name):
        """(line, included file of this tree or public header's text) of every #include of our own."""
        text = (self.root / name).read_text(encoding="utf-8")
        for number, line in enumerate(text.splitlines(), start=1):
            match = INCLUDE.match(line)
            if not match:
                continue
            included = match.group(1) or match.group(2)
            target = self._resolve(name, included, quoted=match.group(1) is not None)
            if target:
                yield number, target

    def _resolve(self, name, included, quoted):
        if included.startswith("vdnn/"):
            return f"include/{included}"
        folders = ["src"]
        if quoted:
            folders.insert(0, name.rpartition("/")[0])
        for folder in folders:
            path = pathlib.PurePosixPath(folder, included)
            parts = []
            for part in path.parts:
                parts = parts[:-1] if part == ".." else parts + [part]
            if "/".join(parts) in self.files:
                return "/".join(parts)
        return None


def layer_of(name):
    """The layer or face of a file, "umbrella", or None if the tables above do not know it."""
    parts = name.split("/")
    if parts[0] == "include":
        header = "/".join(parts[1:])
        return "umbrella" if header == f"vdnn/{UMBRELLA}.h" else LAYER_OF_HEADER.get(header)
    folder = parts[1] if parts[0] == "src" else parts[0]
    return folder if folder in DIRECTLY_BELOW or folder in FACES else None


def why_not(name, target):
    """Why `name` may not include `target`; None if it may."""
    source, wanted = layer_of(name), layer_of(target)
    public = target.startswith("include/")
    if source is None or wanted is None:
        return None  # reported once, by unknown_files
    if source in FACES:
        own = wanted == source
        return None if public or own else f"{source} may include public headers only, not {target}"
    if name.startswith("include/") and not public:
        return f"a public header may not include {target}, which is not installed"
    if source == "umbrella" or wanted == source or (source, target.removeprefix("include/")) in ALSO_ALLOWED:
        return None
    if wanted == "umbrella":
        return f"{source} may not include the umbrella header; include what is needed"
    if wanted in DIRECTLY_BELOW and wanted in layers_below(source):
        return None
    allowed = ", ".join(layer for layer in DIRECTLY_BELOW if layer in layers_below(source)) or "nothing"
    return f"{source} may not include {wanted} ({target}); it may include {allowed}"


def unknown_files(tree):
    for name in sorted(tree.files):
        if layer_of(name) is None:
            table = "PUBLIC_HEADERS" if name.startswith("include/") else "DIRECTLY_BELOW or FACES"
            yield f"{name}:1: belongs to no layer; add it to {table} in scripts/include_order.py"


def cycles(tree):
    """One line for each include that closes a circle, found by depth-first search."""
    done, path, found = set(), [], []

    def visit(name):
        path.append(name)
        for line, target in tree.includes.get(name, []):
            if target in path:
                circle = path[path.index(target):] + [target]
                found.append(f"{name}:{line}: include cycle: {' -> '.join(circle)}")
            elif target not in done:
                visit(target)
        path.pop()
        done.add(name)

    for name in sorted(tree.files):
        if name not in done:
            visit(name)
    return found


def violations(root):
    tree = Tree(root)
    found = list(unknown_files(tree))
    for name, includes in tree.includes.items():
        for line, target in includes:
            reason = why_not(name, target)
            if reason:
                found.append(f"{name}:{line}: {reason}")
    return found + cycles(tree), len(tree.files)


# (files of a made-up tree, a part of the one violation expected there or None)
SELF_TESTS = [
    ({"src/plan/a.cpp": '#include "base/b.h"\n#include <vector>\n', "src/base/b.h": ""}, None),
    ({"src/base/a.h": '// text\n#include "plan/b.h"\n', "src/plan/b.h": ""},
     "src/base/a.h:2: base may not include plan"),
    ({"src/plan/a.h": '#include "../device/b.h"\n', "src/device/b.h": ""}, "plan may not include device"),
    ({"src/tier/a.cpp": "#include <vdnn/graph.h>\n", "include/vdnn/graph.h": ""},
     "tier may not include graph"),
    ({"src/device/cpu/a.cpp": '#include "vdnn/tier.h"\n', "include/vdnn/tier.h": ""}, None),
    ({"src/device/a.cpp": '#include "tier/b.h"\n', "src/tier/b.h": ""}, "device may not include tier"),
    ({"src/cli/a.cpp": '#include "cli/b.h"\n#include "base/c.h"\n', "src/cli/b.h": "", "src/base/c.h": ""},
     "src/cli/a.cpp:2: cli may include public headers only"),
    ({"examples/a.cpp": "#include <vdnn/vdnn.h>\n", "include/vdnn/vdnn.h": ""}, None),
    ({"src/run/a.cpp": "#include <vdnn/vdnn.h>\n", "include/vdnn/vdnn.h": ""}, "umbrella"),
    ({"include/vdnn/plan.h": '#include "plan/a.h"\n', "src/plan/a.h": ""}, "not installed"),
    ({"include/vdnn/novel.h": ""}, "include/vdnn/novel.h:1: belongs to no layer; add it to PUBLIC_HEADERS"),
    ({"src/novel/a.h": ""}, "src/novel/a.h:1: belongs to no layer"),
    ({"src/run/a.h": '#include "run/b.h"\n', "src/run/b.h": '#include "run/a.h"\n'},
     "src/run/b.h:1: include cycle: src/run/a.h -> src/run/b.h -> src/run/a.h"),
]


def self_test():
    failures = 0
    for files, expected in SELF_TESTS:
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            found, _ = violations(pathlib.Path(folder))
        if found if expected is None else len(found) != 1 or expected not in found[0]:
            failures += 1
            print(f"self-test: expected {expected!r}, found {found}")
    print(f"include order self-test: {len(SELF_TESTS) - failures} of {len(SELF_TESTS)} as expected")
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    parser.add_argument("--self-test", action="store_true")
    arguments = parser.parse_args()
    if arguments.self_test:
        return self_test()
    found, count = violations(arguments.root)
    print("\n".join(found) if found else f"include order: {count} files in order")
    return 1 if found or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
