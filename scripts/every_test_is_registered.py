#!/usr/bin/env python3
"""Checks that every test file on disk is known to ctest, and that no file with tests is named otherwise.

  scripts/every_test_is_registered.py BUILD_DIRECTORY
"""

import pathlib
import re
import subprocess
import sys

TEST = re.compile(r"^\s*(?:TEST|TEST_F|TEST_P|TYPED_TEST|RC_GTEST_PROP|RC_GTEST_FIXTURE_PROP)\(",
                  re.MULTILINE)
SUFFIX = "_test.cpp"


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    listing = subprocess.run(["ctest", "-N", "--test-dir", sys.argv[1]], check=True, capture_output=True, text=True)
    registered = set(re.findall(r"^\s*Test\s+#\d+: (\S+)$", listing.stdout, re.MULTILINE))
    # Tests of the cuda device over stand-ins are left out, all of them, where its toolkit is.
    without_toolkit = not any(name.endswith("_on_host") for name in registered)
    found, errors = 0, []
    for path in sorted((root / "tests").rglob("*.cpp")):
        name = path.relative_to(root / "tests").as_posix()
        if name.endswith(SUFFIX):
            test = name.removesuffix(SUFFIX)
            if without_toolkit and test.endswith("_on_host"):
                continue
            found += 1
            if test not in registered:
                errors.append(f"tests/{name} is not registered with ctest; configure again")
        elif TEST.search(path.read_text(encoding="utf-8")):
            errors.append(f"tests/{name} holds tests but is not named *{SUFFIX}, so nothing runs it")
    if found == 0:
        errors.append("no tests/**/*_test.cpp found")
    print("\n".join(errors) if errors else f"{found} test files, each registered")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
