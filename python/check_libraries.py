"""Checks that an extension needs no shared libraries but those of docs/python_bridge.md, which a wheel contains or
every system with GCC's C++ library has.

    python3 check_libraries.py READELF EXTENSION
"""

import re
import subprocess
import sys

ALLOWED = {"c", "dl", "dnnl", "fmt", "gcc_s", "gomp", "m", "mvec", "pthread", "rt", "stdc++", "z"}


def foreign(dynamic_section: str) -> list[str]:
    """Returns the needed libraries that are not allowed."""
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic_section)
    name = re.compile(r"lib(.+?)\.so(\..*)?")
    return [file for file in needed if not file.startswith("ld-linux") and not (
        (match := name.fullmatch(file)) and match[1] in ALLOWED)]  # fmt: skip


def main() -> None:
    readelf, extension = sys.argv[1:]
    found = foreign(subprocess.run([readelf, "-d", extension], check=True, capture_output=True, text=True).stdout)
    if found:
        sys.exit(
            f"The extension needs {', '.join(found)}, which a system may lack. A wheel needs a static tandem; "
            "build the library without -DBUILD_SHARED_LIBS=ON, or omit --prefix, which compiles such a library"
        )


if __name__ == "__main__":
    main()
