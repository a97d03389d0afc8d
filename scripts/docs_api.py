#!/usr/bin/env python3
"""Makes the API reference of the documentation site: a page for each public header, from Doxygen's XML and from the
comments in the header itself. Reports public names without a comment, and headers without a guide.

Usage: docs_api.py XML OUTPUT      writes the pages into OUTPUT; exits 1 if something lacks a comment or a guide
       docs_api.py XML             only reports

Doxygen knows the declarations; the comments are taken from the source, because the house style is not Doxygen's: a
`///` comment covers the declarations that follow it without a blank line or another comment in between, and
`// ---- text` begins a section. What counts as public, and which names need no comment, is in CONTRIBUTING.md.
"""
import os
import re
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
INCLUDE = os.path.join(ROOT, "include")

# Members that each class of a kind has, described at their base class.
MODULE_MEMBERS = {"transform", "reset", "reset_parameters", "forward", "pretty_print"}
CONTAINER_MEMBERS = {"begin", "end", "cbegin", "cend", "size", "empty", "data", "value_type", "iterator",
                     "const_iterator"}
MODULE_MACRO = re.compile(r"^\s*TANDEM_(\w+_)?(MODULE|MODULE_IMPL|FOLD)\(")
# Names without a comment that are known.
UNAVAILABLE = {"tandem/left_out.h"}  # names that say at compile time what to use instead
SECTION = re.compile(r"^\s*// ---- (.*)$")
COMPOUNDS = {"class", "struct", "union"}


@dataclass
class Entity:
    kind: str  # function, variable, typedef, enum, define, class, struct, union
    name: str
    scope: str  # qualified name of the class or namespace
    line: int
    first: int = 0  # the line where the declaration begins
    in_class: bool = False
    element: object = None
    doc: list = None  # lines of the comment
    covered: bool = False  # by a comment at another name of its group
    section: str = ""
    members: list = field(default_factory=list)

    def is_getter(self):
        """Whether this is a const member function without parameters."""
        return self.kind == "function" and self.in_class and self.element.get("const") == "yes" and \
            text_of(self.element.find("argsstring")).startswith("()")

    @property
    def qualified(self):
        return f"{self.scope}::{self.name}" if self.scope else self.name


class Header:
    """The lines of a header, and the comments in them."""

    def __init__(self, path):
        self.path = path
        with open(os.path.join(INCLUDE, path), encoding="utf-8") as file:
            self.lines = [""] + file.read().splitlines()
        self.intro = self.read_intro()
        self.section_list = []  # line and text
        for number, line in enumerate(self.lines):
            match = SECTION.match(line)
            if match:
                text, following = match.group(1), number + 1
                while re.match(r"\s*//(?!/| ----)", self.lines[following]):
                    text += " " + self.lines[following].strip()[2:].strip()
                    following += 1
                self.section_list.append((number, text))

    def read_intro(self):
        lines = []
        for line in self.lines[1:]:
            if line.startswith("// ") or line == "//":
                lines.append(line[3:])
            elif lines:
                break
        return lines

    def section(self, line, after):
        """Returns the section of a line, or '' if none with its indentation begins after another line."""
        found, margin = "", re.match(r"\s*", self.lines[line]).group()
        for number, text in self.section_list:
            if after < number < line and re.match(r"\s*", self.lines[number]).group() == margin:
                found = text
        return found

    def line_of(self, name, line):
        """Returns the line of a name. Doxygen's lines are a few too small after macros that take several."""
        for number in [line, *range(line + 1, min(line + 8, len(self.lines)))]:
            if re.search(rf"\b{re.escape(name.lstrip('~'))}\b", re.sub(r"//.*", "", self.lines[number])):
                return number
        return line

    def is_code(self, line):
        text = self.lines[line].strip()
        return bool(text) and not text.startswith(("//", "#", "*", "/*"))

    def first_line(self, line):
        """Returns the line where the declaration that contains a line begins."""
        while line > 1 and self.is_code(line - 1) and not self.lines[line].startswith("#"):
            before = re.sub(r"//.*", "", self.lines[line - 1]).rstrip()
            if before.endswith((";", "{", "}")) or re.search(r"(public|private|protected|\w\)):$|\\$", before):
                break
            if before.endswith(")") and re.match(r"\s*TANDEM_\w+\(", self.lines[line - 1]) and \
                    "UNAVAILABLE" not in before:
                break
            line -= 1
        return line

    def comment_above(self, line):
        """Returns the lines of the /// comment that ends right above a line."""
        last = line - 1
        while last >= 1 and re.match(r"\s*(//(?!/)|#\s*(if|elif|else|endif|define))", self.lines[last]) and \
                not SECTION.match(self.lines[last]):
            last -= 1
        first = last
        while first >= 1 and re.match(r"\s*///(?!<)", self.lines[first]):
            first -= 1
        return [re.sub(r"^\s*/// ?", "", text) for text in self.lines[first + 1:last + 1]]

    def comment_behind(self, line):
        """Returns the lines of the ///< comment at the end of a declaration."""
        found, number = [], line
        while number < len(self.lines):
            text = self.lines[number]
            match = re.search(r"///< ?(.*)$", text)
            if match:
                found.append(match.group(1))
                number += 1
                while number < len(self.lines) and re.match(r"\s*///< ?", self.lines[number]):
                    found.append(re.sub(r"^\s*///< ?", "", self.lines[number]))
                    number += 1
                return found
            if re.search(r"[;{},]\s*(//.*)?$", text):
                return []
            number += 1
        return []

    def covered_by(self, first, previous):
        """Whether a declaration follows a previous one without a blank line or comment in between, in one scope."""
        return all(self.is_code(line) for line in range(previous, first)) and \
            not any(re.match(r"\s*(public|protected|private):", self.lines[line]) for line in range(previous, first))

    def scope_start(self, line):
        """Returns the line where the class or namespace around a line begins: the last one that is indented less."""
        indent = len(self.lines[line]) - len(self.lines[line].lstrip())
        while line > 0 and (not self.lines[line].strip() or self.lines[line].startswith("#") or
                            len(self.lines[line]) - len(self.lines[line].lstrip()) >= indent) and \
                not re.match(r"namespace|.*// namespace", self.lines[line]):
            line -= 1
        return line


def text_of(element):
    return "" if element is None else "".join(element.itertext()).strip()


class Reference:
    def __init__(self, xml):
        self.xml = xml
        self.headers = {}
        self.entities = {}  # by header, in order
        self.undefined = set()  # macros that do not outlive a header
        self.read()

    def header(self, path):
        if path not in self.headers:
            self.headers[path] = Header(path)
            self.entities[path] = []
        return self.headers[path]

    def read(self):
        for folder, _, names in os.walk(INCLUDE):
            for name in sorted(names):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    self.undefined |= set(re.findall(r"^\s*#\s*undef (\w+)", file.read(), flags=re.M))
                if name.endswith(".h") and not name.endswith("-inl.h"):
                    self.header(os.path.relpath(os.path.join(folder, name), INCLUDE))
        index = ElementTree.parse(os.path.join(self.xml, "index.xml")).getroot()
        compounds = {}
        for item in index.iter("compound"):
            if item.get("kind") in COMPOUNDS | {"namespace", "file"}:
                root = ElementTree.parse(os.path.join(self.xml, item.get("refid") + ".xml")).getroot()
                compounds[item.get("refid")] = root.find("compounddef")
        hidden = {inner.get("refid") for definition in compounds.values() for inner in definition.iter("innerclass")
                  if inner.get("prot") == "private"}
        inner_of = {inner.get("refid"): definition for definition in compounds.values()
                    if definition.get("kind") in COMPOUNDS for inner in definition.iter("innerclass")}
        classes = {}
        for key, definition in compounds.items():
            if definition.get("kind") not in COMPOUNDS or key in hidden:
                continue
            name = text_of(definition.find("compoundname"))
            owner = inner_of.get(key)
            while owner is not None:
                if owner.get("id") in hidden:
                    break
                owner = inner_of.get(owner.get("id"))
            if owner is not None or self.is_internal(name):
                continue
            location = definition.find("location")
            path, line = location.get("file"), int(location.get("line"))
            if path not in self.headers:
                continue
            scope, _, short = split_name(name)
            if "<" in short:
                continue  # a specialisation
            entity = Entity(definition.get("kind"), short, scope, line, element=definition,
                            in_class=key in inner_of)
            entity.path = path
            classes[name] = entity
            self.entities[path].append(entity)
        for key, definition in compounds.items():
            kind = definition.get("kind")
            scope = text_of(definition.find("compoundname")) if kind != "file" else ""
            if key in hidden or self.is_internal(scope) or (kind in COMPOUNDS and scope not in classes):
                continue
            for member in definition.iter("memberdef"):
                self.add(member, scope, kind in COMPOUNDS)
        for path, entities in self.entities.items():
            self.finish(self.headers[path], entities)

    @staticmethod
    def is_internal(name):
        return bool(re.search(r"(^|::)(detail|@\d+)(::|$)", name)) or name.startswith("std")

    def add(self, member, scope, in_class):
        name = text_of(member.find("name"))
        kind = member.get("kind")
        location = member.find("location")
        path = location.get("declfile") or location.get("file")
        line = int(location.get("declline") or location.get("line"))
        if path not in self.headers or member.get("prot") == "private" or kind == "friend":
            return
        if kind == "define":
            if not name.startswith("TANDEM_"):
                return
            scope = ""
        elif not in_class and not scope.startswith("tandem"):
            return
        self.entities[path].append(Entity(kind, name, scope, line, in_class=in_class, element=member))

    def finish(self, header, entities):
        """Sorts the entities of a header and gives them their comments."""
        unique = {}
        for entity in entities:
            if entity.kind == "define" and entity.name in self.undefined:
                continue
            if entity.kind == "function" and re.match(r"\s*using ", header.lines[entity.line]):
                continue  # Doxygen 1.9.4 shows `using Error::Error` as functions
            entity.line = header.line_of(entity.name, entity.line)
            entity.first = header.first_line(entity.line)
            key = (entity.kind, entity.qualified, entity.line, text_of(entity.element.find("argsstring")))
            unique.setdefault(key, entity)
        entities[:] = sorted(unique.values(), key=lambda entity: entity.line)
        before = run = None  # the declaration before, and the one whose comment begins the run
        for entity in entities:
            doc = []
            if entity.kind not in COMPOUNDS | {"enum"} or header.lines[entity.line].rstrip().endswith(";"):
                doc = header.comment_behind(entity.line)
            doc = doc or header.comment_above(entity.first)
            entity.leader = entity
            entity.section = header.section(entity.line, header.scope_start(entity.first))
            if any(doc):
                entity.doc = doc
                run = None if header.comment_behind(entity.line) else entity
            elif before is None or not header.covered_by(entity.first, before.line):
                run = None
            elif run is not None and self.may_join(run, entity, header.lines[entity.line]):
                entity.leader = run
            before = entity

    @staticmethod
    def may_join(leader, entity, macro):
        """Whether the comment of a name can cover another name of its group, as far as their kinds say."""
        if leader.in_class and leader.name == re.sub(r"<.*", "", split_name(leader.scope)[2]):
            return False  # a constructor
        if leader.kind in COMPOUNDS and entity.kind in COMPOUNDS:
            return MODULE_MACRO.match(macro) is not None
        if leader.kind in COMPOUNDS | {"enum"}:
            return entity.kind == "variable" and not entity.in_class
        if entity.is_getter() and not leader.is_getter() and entity.name != leader.name:
            return False
        return entity.scope == leader.scope


def split_name(name):
    """Splits a qualified name, whose template arguments may contain '::'."""
    depth = 0
    for i in range(len(name) - 1, 0, -1):
        depth += {">": 1, "<": -1}.get(name[i], 0)
        if depth == 0 and name[i - 1:i + 1] == "::":
            return name[:i - 1], "::", name[i + 1:]
    return "", "", name


def needs_comment(entity, documented, header):
    """Whether a name lacks a comment, by the rule of CONTRIBUTING.md."""
    name, element, kind = entity.name, entity.element, entity.kind
    if entity.leader.doc or re.search(r"[:.] ", entity.section) or (entity.scope, name) in documented:
        return False
    if MODULE_MACRO.match(header.lines[entity.line]):
        return False  # the holder or a member of a class that a macro makes; the class has the comment
    if entity.scope.startswith("tandem::math") and (entity.in_class or kind == "function"):
        return False  # a formula: its body says what it is
    if entity.in_class:
        if kind in ("variable", "typedef", "friend", "enum"):
            return False
        owner = re.sub(r" *<.*", "", split_name(entity.scope)[2])
        if name in (owner, "~" + owner) or name in CONTAINER_MEMBERS | MODULE_MEMBERS:
            return False
        if element.find("reimplements") is not None or "override" in text_of(element.find("argsstring")):
            return False
        if entity.is_getter():
            return False
    if name.startswith("operator"):
        return False
    if ("tandem", name.removesuffix("_")) in documented or (entity.scope, name.removesuffix("_")) in documented:
        return False  # a method, or works in place, and is like the function
    if kind in COMPOUNDS and element.find("location").get("bodystart") in (None, "-1"):
        return False  # only declared here
    return not (kind == "typedef" and element.find("type/ref") is not None)  # an alias of a type that has a comment


def main():
    reference = Reference(sys.argv[1])
    messages, total = [], 0
    documented = {(e.scope, e.name) for entities in reference.entities.values() for e in entities if e.leader.doc}
    for path, entities in sorted(reference.entities.items()):
        header = reference.headers[path]
        for entity in entities:
            total += 1
            if path not in UNAVAILABLE and needs_comment(entity, documented, header):
                messages.append(f"include/{path}:{entity.line}: {entity.kind} {entity.qualified} has no /// comment")
    lacking = len(messages)
    if len(sys.argv) > 2:
        import docs_api_pages  # pylint: disable=import-outside-toplevel
        docs_api_pages.Writer(reference).write(sys.argv[2])
        messages += [f"include/{path}: add a guide to docs_api_pages.GUIDES" for path in sorted(reference.headers)
                     if not docs_api_pages.guide_of(path)]
    for message in messages:
        print(message)
    print(f"api: {len(reference.headers)} headers, {total} public names, {lacking} without a comment")
    return 1 if messages else 0


if __name__ == "__main__":
    sys.modules["docs_api"] = sys.modules["__main__"]
    sys.exit(main())
