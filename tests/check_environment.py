#!/usr/bin/env python3
"""Checks that docs/environment.md lists exactly the environment variables that the library, the tools, the tests and the
scripts read. Prints the differences.

Found are, in C++, the names in getenv(), and in files that call it with a variable all strings in capitals with an
underscore; a name that the source puts together is found by its last part. In Python, those in os.environ[...], os.environ.get() and os.getenv(). In shell
scripts, variables with a default or another choice for an unset one, such as ${CXX:-g++}. In CMake, ENV{...}, and
ENV followed by a name, among the hints of find_program() and its like.

Usage: check_environment.py [--self-test]
"""
import glob
import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
PAGE = "docs/environment.md"
FOLDERS = [".ci", "benchmarks", "cmake", "common", "compat", "examples", "include", "kernels", "packaging", "python",
           "scripts", "src", "tests", "tools"]
READ_BY_NAME = re.compile(r'\b(?:getenv|is_switched_on)\("([A-Z][A-Z0-9_]*)"')
READ_BY_VARIABLE = re.compile(r"\bgetenv\([^\")]")
NAME = re.compile(r'"([A-Z0-9]*_[A-Z0-9_]*[A-Z0-9])"')
READ = {
    "py": re.compile(r"""(?:environ\[|environ\.get\(|environ\.setdefault\(|\bgetenv\()["']([A-Z][A-Z0-9_]*)"""),
    "sh": re.compile(r"\$\{([A-Z][A-Z0-9_]*):?[-+?]"),
    "cmake": re.compile(r"\bENV(?:\{| )([A-Z][A-Z0-9_]*)\b"),
}
KINDS = {"cpp": "cpp", "cu": "cpp", "h": "cpp", "inc": "cpp", "py": "py", "sh": "sh", "cmake": "cmake", "txt": "cmake"}


def names_read(kind, text):
    """Returns the variables, or their last parts, that a file of this kind reads."""
    if kind != "cpp":
        return set(READ[kind].findall(text))
    return set(READ_BY_NAME.findall(text)) | set(NAME.findall(text) if READ_BY_VARIABLE.search(text) else ())


def is_part(name, variable):
    return variable == name or variable.endswith("_" + name.lstrip("_"))


def listed(page):
    """Returns the variables in the first columns of the page's tables."""
    columns = re.findall(r"^\| ((?:`[A-Z][A-Z0-9_]*`(?:, )?)+)", page, flags=re.M)
    return {name for column in columns for name in re.findall("`([A-Z0-9_]+)`", column)}


def differences(read, variables):
    """Compares {name: file} with the variables of the page. Returns messages."""
    missing = [f"{PAGE} lacks {name}, which {file} reads" for name, file in read.items()
               if not any(is_part(name, v) for v in variables)]
    unread = [f"{PAGE} has {v}, which nothing reads" for v in variables if not any(is_part(name, v) for name in read)]
    return missing + unread


def read_in_sources():
    files = [os.path.join(ROOT, "CMakeLists.txt")]
    for folder in FOLDERS:
        files += sorted(glob.glob(os.path.join(ROOT, folder, "**", "*"), recursive=True))
    found = {}
    for file in filter(os.path.isfile, files):
        kind = KINDS.get(file.rsplit(".", 1)[-1], "sh" if os.path.basename(os.path.dirname(file)) == ".ci" else None)
        if kind is None or os.path.samefile(file, __file__):
            continue
        with open(file, encoding="utf-8", errors="replace") as text:
            for name in names_read(kind, text.read()):
                found.setdefault(name, os.path.relpath(file, ROOT))
    return found


def self_test():
    assert names_read("cpp", 'std::getenv("TANDEM_A"); f("B_C");') == {"TANDEM_A"}
    assert names_read("cpp", 'std::getenv(name); f("B_C"); f("_D"); g("lower_case"); g("E");') == {"B_C", "_D"}
    assert names_read("py", 'os.environ.get("A_B", 0) + os.environ["C"]') == {"A_B", "C"}
    assert names_read("sh", "${CXX:-g++} $HOME ${JOBS-2}") == {"CXX", "JOBS"}
    assert names_read("cmake", "$ENV{A_B} DEFINED ENV{C} HINTS ENV D PATHS") == {"A_B", "C", "D"}
    page = "| `A_B`, `A_C` | x |\n| `D` | `E` |\n"
    assert listed(page) == {"A_B", "A_C", "D"}
    assert not differences({"A_B": "f", "_C": "f", "D": "f"}, listed(page))
    assert differences({"A_B": "f", "X": "f"}, {"A_B", "D"}) == [f"{PAGE} lacks X, which f reads",
                                                                  f"{PAGE} has D, which nothing reads"]


def main():
    if "--self-test" in sys.argv:
        self_test()
        return 0
    with open(os.path.join(ROOT, PAGE), encoding="utf-8") as file:
        variables = listed(file.read())
    messages = differences(read_in_sources(), variables)
    for message in sorted(messages):
        print(message)
    print(f"environment: {len(variables)} variables, {len(messages)} differences")
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main())
