#!/usr/bin/env python3
"""Checks that a shared tandem exports the declarations of its public headers, and nothing else of its own.

1. Each exported symbol of namespace tandem is declared in a public header, or in a header of src/ that uses
   TANDEM_FOR_COMPONENTS, or is a member of a class declared there.
   Of the libraries that tandem uses, only instantiations of the standard library and fmt's exception are exported:
   their own headers give them default visibility.
2. A program that includes every public header links and runs. It is compiled with hidden visibility and
   TANDEM_HEADER_ONLY_OPS, and GCC also compiles the inline functions that it does not call, so that the library must
   export all that they call. The program and the library share the state of a thread and the types of exceptions.

Usage: exports.py --library libtandem.so --include FOLDER --src FOLDER [--nm NM] -- GCC ARGUMENTS...
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

# Exported by every shared library, by OpenMP's critical sections, and the standard library's names that LLVM's
# nm leaves mangled (path::operator std::string).
NOT_CPP = re.compile(r"_init|_fini|__bss_start|_edata|_end|\.gomp_critical_user_\w+|_Z(?:NK?)?St\w+")
# The name of a function, perhaps after its return type, or that in "vtable for NAME" and the like.
NAME = re.compile(r"(?:[^(<]*(?:<[^(]*>)? )?((tandem|dnnl|nlohmann|fmt)(?:::\w+)+)")
PROGRAM = """
int main() {
  using namespace tandem;
  const NoGradGuard no_grad;
  if (Tensor(ones({2, 3})).requires_grad_().add(1).requires_grad()) return 1;  // the library reads the guard
  try {
    const OpScope scope("my_program");
    ones({2, 3}).reshape({7});
  } catch (const ShapeError& error) {
    return error.op() == "my_program" ? 0 : 2;  // the library reads the scope
  }
  return 3;
}
"""


def headers(include):
    return sorted(os.path.relpath(os.path.join(folder, name), include)
                  for folder, _, names in os.walk(include) for name in names
                  if name.endswith(".h") and not name.endswith("-inl.h"))


def texts_of(include, src):
    """Returns the texts of the public headers, and of the internal ones with what components use."""
    texts = []
    for folder in (include, src):
        for header in headers(folder):
            with open(os.path.join(folder, header), encoding="utf-8") as file:
                text = file.read()
            if folder == include or "TANDEM_FOR_COMPONENTS" in text:
                texts.append(text)
    return [re.sub(r"//[^\n]*", "", text) for text in texts]


def with_lists(include, text):
    """Replaces each #include of a list of macro calls (.inc) by the names that a header's macros can make of it."""
    suffixes = {"", *re.findall(r"\bNAME##(\w+)", text)}

    def names(match):
        with open(os.path.join(include, match[1]), encoding="utf-8") as file:
            listed = re.findall(r"^TANDEM_\w+\((\w+)", file.read(), re.MULTILINE)
        return " ".join(name + suffix for name in listed for suffix in suffixes)

    return re.sub(r'#include "([\w/]+\.inc)"', names, text)


def joined_suffixes(texts):
    """Returns what the macros of the headers append to their first parameter, such as Impl in Name##Impl."""
    suffixes = {}
    for text in texts:
        for macro, name, body in re.findall(r"#define (TANDEM_\w+)\((\w+)[^)]*\)((?:.*\\\n)*.*)", text):
            suffixes[macro] = set(re.findall(rf"\b{name}##(\w+)", body))
    return suffixes


def declared(include, src):
    """Returns the words in each namespace of the headers, without those in its inner namespaces."""
    texts = texts_of(include, src)
    suffixes = joined_suffixes(texts)

    def names_of_call(match):
        return " ".join([match[0], *(match[2] + suffix for suffix in suffixes.get(match[1], ()))])

    words = {}
    for text in texts:
        text = re.sub(r"^(TANDEM_\w+)\((\w+)\)", names_of_call, with_lists(include, text), flags=re.MULTILINE)
        scopes = [""]
        for name, brace, word in re.findall(r"\bnamespace ([\w:]+) \{|([{}])|([A-Za-z_]\w*)", text):
            if name:
                scopes.append(f"{scopes[-1]}::{name}".removeprefix("::"))
            elif brace == "{":
                scopes.append(scopes[-1])
            elif brace:
                scopes.pop()
            else:
                words.setdefault(scopes[-1], set()).add(word)
    return words


def undeclared(symbols, words):
    """Yields the symbols that no public header declares."""
    for symbol in symbols:
        match = NAME.match(symbol.replace("(anonymous namespace)", "ANONYMOUS"))
        if "::" not in symbol:
            internal = not NOT_CPP.fullmatch(symbol)
        elif not match:
            internal = False
        elif match.group(2) != "tandem":
            internal = not re.fullmatch(r"fmt::v\d+::format_error.*", match.group(1))
        else:
            parts = match.group(1).split("::")
            namespace = max(i for i in range(1, len(parts) + 1) if "::".join(parts[:i]) in words)
            internal = namespace < len(parts) and parts[namespace] not in words["::".join(parts[:namespace])]
        if internal:
            yield symbol


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "CCACHE_DISABLE": "1"})
    if result.returncode:
        print(" ".join(command), result.stdout, result.stderr, f"exit status {result.returncode}", sep="\n")
    return result


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True)
    parser.add_argument("--include", required=True)
    parser.add_argument("--src", required=True)
    parser.add_argument("--nm", default="nm")
    parser.add_argument("compiler", nargs="+")
    args = parser.parse_args()
    # Columns: address, type, name.
    lines = run(args.nm, "-DC", "--defined-only", args.library).stdout.splitlines()
    symbols = [line.split(maxsplit=2)[2] for line in lines]
    internal = list(undeclared(symbols, declared(args.include, args.src)))
    print(f"{len(symbols)} symbols are exported, {len(internal)} of them are in no public header", *internal, sep="\n")
    if not symbols or internal:
        return 1
    if not shutil.which(args.compiler[0]):
        print(f"no {args.compiler[0]}: the program was not compiled")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        source, program = os.path.join(folder, "every_header.cpp"), os.path.join(folder, "every_header")
        with open(source, "w", encoding="utf-8") as file:
            file.writelines(f"#include <{header}>\n" for header in headers(args.include))
            file.write(PROGRAM)
        where = os.path.dirname(os.path.abspath(args.library))
        for mode in ([], ["-DTANDEM_HEADER_ONLY_OPS"]):
            built = run(args.compiler[0], "-std=c++20", "-fvisibility=hidden", "-fvisibility-inlines-hidden",
                        "-fkeep-inline-functions", *mode, f"-I{args.include}", source, "-o", program, args.library,
                        f"-Wl,-rpath,{where}", *args.compiler[1:])
            if built.returncode or run(program).returncode:
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
