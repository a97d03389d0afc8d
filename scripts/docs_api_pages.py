"""Writes the pages of the API reference for docs_api.py: reStructuredText with the directives of docs/api_domain.py."""
import os
import re

from docs_api import COMPOUNDS, INCLUDE, MODULE_MACRO, UNAVAILABLE, Reference, split_name, text_of

# The guide of each header: the first entry whose beginning fits.
GUIDES = [
    ("amp/autocast_off", "modes"), ("amp/custom_function", "workflows"), ("amp/custom_op", "add_an_op"),
    ("amp/fp8", "fp8"), ("amp/modes", "modes"), ("amp/tools", "seeing"), ("amp/policy", "autocast-ops"),
    ("amp/grad", "workflows"), ("amp/", "mixed_precision"), ("autograd/checkpoint", "workflows"),
    ("autograd/function", "workflows"), ("autograd/apply", "add_an_op"), ("autograd/", "workflows"),
    ("backend", "add_an_op"), ("base/float8", "fp8"), ("base/error", "troubleshooting"),
    ("base/half", "mixed_precision"), ("base/", "libtorch"), ("cuda/graph", "cuda_graphs"),
    ("cuda/", "performance"), ("data/", "data_loading"), ("distributed/", "scaling"),
    ("io/summary_writer", "seeing"), ("io/", "saving"),
    ("left_out", "libtorch"), ("math/", "add_an_op"), ("nn/parallel", "scaling"), ("nn/", "libtorch"),
    ("ops/float8", "fp8"), ("ops/", "autocast-ops"), ("optim/zero_redundancy", "scaling"), ("optim/", "optimizers"),
    ("tandem", "getting_started"), ("tensor/capture", "cuda_graphs"), ("tensor/current_capture", "cuda_graphs"),
    ("tensor/dlpack", "saving"), ("tensor/state_dict", "saving"), ("tensor/threads", "performance"),
    ("tensor/cpu_capability", "performance"),
    ("tensor/allocator", "performance"), ("tensor/accelerator", "add_an_op"), ("tensor/weight_float8", "fp8"),
    ("tensor/optimizer_call", "add_an_op"), ("tensor/", "libtorch"), ("version", "versioning"),
]
FOLDERS = {
    "amp": "Autocast, loss scaling, modes and tools", "autograd": "Automatic differentiation",
    "base": "Dtypes, devices, errors and other basic types", "cuda": "CUDA devices, streams, graphs and memory",
    "data": "Datasets, samplers, transforms and loaders", "distributed": "Communication between processes",
    "io": "Files and serialisation", "math": "Formulas shared by the CPU and CUDA kernels",
    "nn": "Modules, losses and initialisation", "ops": "Functions of tensors",
    "optim": "Optimizers and schedules", "tensor": "Tensors, their memory and their creation",
}
CLASS_NAME = re.compile(r"(?<![\w:`./\\])((?:[a-z_0-9]+::)*[A-Z]\w*(?:::\w+)*(?:\(\))?|(?:[a-z_0-9]+::)*[a-z_]\w+\(\))")


def guide_of(path):
    """Returns the guide of a header, such as tandem/amp/autocast.h, or None."""
    name = path.removeprefix("tandem/").removesuffix(".h")
    return next((guide for start, guide in GUIDES if name.startswith(start)), None)


def title(text, line):
    return [text, line * len(text), ""]


def escape(text):
    return re.sub(r"([\\*_|`])", r"\\\1", text)


def separated(before, markup, after):
    """Returns inline markup with the escaped spaces that it needs between the texts around it."""
    start = "" if not before or re.search(r"[\s'\"(\[{</:-]$", before) else "\\ "
    return start + markup + ("" if not after or re.match(r"[\s'\")\]}>/\\:.,;!?-]", after) else "\\ ")


def one_line(text):
    return re.sub(r"\s+", " ", text).strip()


def is_name(word):
    """Whether a word of a comment, outside of code, is meant as a name: `Base of the layers` has none."""
    return word in ("Tensor", "Scalar", "Storage") or "::" in word or word.endswith("()") or \
        re.search(r"[A-Z].*[A-Z]", word) is not None


def tidy(signature):
    """Writes a declaration of Doxygen as clang-format does."""
    signature = re.sub(r"(?<!operator)(?<!operator<) *([<>]) *", r"\1", one_line(signature))
    signature = re.sub(r">(?=\w)", "> ", signature)
    signature = re.sub(r" ([&*]+) ?", r"\1 ", signature)
    signature = re.sub(r"([&*]) (?=[,)>])", r"\1", signature)
    signature = re.sub(r"(?<![\w=<>!+*/%&|^~-])=(?!=)|(?<=\w)=(?=[\w{\"-])", " = ", signature)
    return one_line(re.sub(r"^template<", "template <", signature))


class Writer:
    def __init__(self, reference):
        self.reference = reference
        self.pages = {path.removeprefix("tandem/").removesuffix(".h") for path in reference.headers}
        self.seen = set()
        self.targets = {}  # name without namespaces -> qualified names that have an entry
        for path, entities in reference.entities.items():
            for entity in entities:
                if path not in UNAVAILABLE and self.is_shown(entity) and entity.kind != "define" and \
                        not self.is_plain_override(entity):
                    self.targets.setdefault(entity.name, set()).add(entity.qualified)

    def is_shown(self, entity):
        element = entity.element
        arguments = text_of(element.find("argsstring"))
        if element.get("prot") == "protected" or entity.kind == "friend" or "<" in entity.name:
            return False
        if re.search(r"=\s*(default|delete)$", arguments) or entity.name.startswith("~"):
            return False
        if entity.kind in COMPOUNDS and element.find("location").get("bodystart") in (None, "-1"):
            return False  # only declared here
        return not (entity.in_class and "<" in split_name(entity.scope)[2])

    # ---- text
    def find(self, name, scope):
        """Returns the qualified name that a name means in a scope, or None."""
        parts = name.split("::")
        candidates = [q for q in self.targets.get(parts[-1], ()) if ("::" + q).endswith("::" + name)]
        if len(candidates) > 1:
            around = scope
            while True:
                near = [q for q in candidates if q == (f"{around}::{name}" if around else name)]
                if near or not around:
                    break
                around = split_name(around)[0]
            candidates = near
        return candidates[0] if len(candidates) == 1 else None

    def link(self, word, scope):
        """Returns a reference to a name that a comment mentions, or None."""
        found = self.find(word.removesuffix("()"), scope)
        return f":api:ref:`{word} <{found}>`" if found and found != scope else None

    def words(self, text, scope):
        """Escapes a piece of text without code, and links the names in it."""
        result, at = "", 0
        for match in re.finditer(rf"docs/(\w+)\.md|(?:tandem/)?([a-z_0-9/]+)\.h\b|{CLASS_NAME.pattern}", text):
            guide, header, name = match.group(1), match.group(2), match.group(3)
            if guide:
                link = f":doc:`/{guide}`"
            elif header:
                link = f":doc:`{header}.h </api/{header}>`" if header in self.pages else None
            else:
                link = self.link(name, scope) if is_name(name) else None
            if link:
                before = text[at:match.start()]
                at = match.end()
                result += escape(before) + separated(before, link, text[at:])
        return result + escape(text[at:])

    def inline(self, text, scope):
        parts = re.split(r"(``.+?``|`[^`]+`)", text)
        result = ""
        for i, part in enumerate(parts):
            if i % 2 == 0:
                result += self.words(part, scope)
                continue
            code = part.strip("`").strip()
            link = self.link(code, scope) if re.fullmatch(CLASS_NAME, code) else None
            if link is None:
                link = "``" + code + "``"
            result += separated(parts[i - 1], link, parts[i + 1])
        return result

    def text(self, lines, scope, indent):
        """Returns the reStructuredText of a comment."""
        blocks, kind = [], None
        for line in lines:
            stripped = line.strip()
            if not stripped:
                kind = None
            elif stripped.startswith("- ") or re.match(r"\d\. ", stripped):
                blocks.append(("item", [stripped[2:].strip()]))
                kind = "item"
            elif kind == "item" and line.startswith(" "):
                blocks[-1][1].append(stripped)
            elif line.startswith("  ") and kind != "text" or kind == "code" and line.startswith("  "):
                if kind != "code":
                    if blocks and blocks[-1][0] == "code":
                        blocks[-1][1].append("")
                    else:
                        blocks.append(("code", []))
                kind = "code"
                blocks[-1][1].append(line)
            elif kind == "text":
                if line.startswith("  "):
                    blocks.append(("code", [line]))
                    kind = "code"
                else:
                    blocks[-1][1].append(stripped)
            else:
                blocks.append(("text", [stripped]))
                kind = "text"
        result = []
        for kind, content in blocks:
            if kind == "code":
                margin = min(len(c) - len(c.lstrip()) for c in content if c.strip())
                result += [".. code-block:: cpp", "", *("   " + c[margin:] for c in content), ""]
            else:
                joined = self.inline(" ".join(content), scope)
                result += [("- " if kind == "item" else "") + joined, ""]
        return [(indent + line).rstrip() for line in result]

    # ---- declarations
    def template_of(self, element):
        parameters = element.find("templateparamlist")
        if parameters is None:
            return ""
        found = []
        for parameter in parameters.findall("param"):
            name = text_of(parameter.find("declname"))
            value = text_of(parameter.find("defval"))
            found.append(text_of(parameter.find("type")) + (" " + name if name else "") + (" = " + value if value else ""))
        return "template<" + ", ".join(found) + "> "

    def signature(self, entity):
        """Returns the declaration of an entity."""
        element, name, kind = entity.element, entity.name, entity.kind
        kind_of_type = re.sub(r"\b(constexpr|inline|TANDEM_\w+)\b|__attribute__\(.*?\)", "", text_of(element.find("type")))
        arguments = re.sub(r"\s*(override|final|noexcept|TANDEM_\w+)\b", "", text_of(element.find("argsstring")))
        arguments = re.sub(r"\s*=\s*0$", "", arguments)
        template = self.template_of(element)
        static = "static " if element.get("static") == "yes" and entity.in_class else ""
        if kind == "define":
            parameters = [text_of(p.find("defname")) for p in element.findall("param")]
            return name + (f"({', '.join(parameters)})" if parameters else "")
        if kind in COMPOUNDS:
            bases = []
            for base in element.findall("basecompoundref"):
                if "detail::" not in text_of(base) and base.get("prot") == "public":
                    bases.append("public " + text_of(base))
            return f"{template}{kind} {name}" + (" : " + ", ".join(bases) if bases else "")
        if kind == "enum":
            of = text_of(element.find("type"))
            return ("enum class " if element.get("strong") == "yes" else "enum ") + name + (f" : {of}" if of else "")
        if kind == "typedef":
            target = re.sub(r"^.*?=\s*(typedef )?", "", text_of(element.find("definition")), count=1)
            return f"{template}using {name} = {target}"
        if kind == "variable":
            initial = text_of(element.find("initializer"))
            initial = " " + initial if initial.startswith("=") and len(initial) < 60 else ""
            return f"{template}{static}{kind_of_type} {name}{text_of(element.find('argsstring'))}{initial}"
        virtual = "virtual " if element.get("virt") in ("virtual", "pure-virtual") and \
            element.find("reimplements") is None else ""
        explicit = "explicit " if element.get("explicit") == "yes" else ""
        return f"{template}{static}{explicit}{virtual}{kind_of_type} {name}{arguments}"

    def enumerators(self, entity, header, indent):
        lines = []
        for value in entity.element.findall("enumvalue"):
            name, comment = text_of(value.find("name")), ""
            for line in header.lines[entity.line:entity.line + 200]:
                match = re.search(rf"^\s*{name}\b.*///< ?(.*)", line)
                if match:
                    comment = ": " + self.inline(match.group(1), entity.qualified)
                if match or line.strip().startswith("}"):
                    break
            lines.append(f"{indent}- ``{name}``{comment}")
        return [*lines, ""]

    def entry(self, group, header, indent, children):
        """Returns the directive for entities that share a comment."""
        lines, shown = [], []
        for entity in group:
            signature = tidy(self.signature(entity))
            key = (entity.scope, re.sub(r"\s|class|typename", "", signature.split(" : ")[0]))
            if key not in self.seen:
                self.seen.add(key)
                shown.append((signature, entity))
        if not shown:
            return []
        scope = group[0].scope
        source = header.lines[group[0].line]
        made_by_macro = MODULE_MACRO.match(source) is not None
        lead = f"{indent}.. api:declaration:: "
        lines += [lead + shown[0][0], *(" " * len(lead) + signature for signature, _ in shown[1:])]
        links = {}
        for signature, entity in shown:
            for word in re.findall(r"[\w:]*\b[A-Z]\w*", signature):
                found = self.find(word.removeprefix("::"), scope) if word != entity.name else None
                if found:
                    links[word] = found
        lines += [f"{indent}   :kind: {group[0].kind}", f"{indent}   :names: {'; '.join(e.qualified for _, e in shown)}"]
        lines += [f"{indent}   :links: {' '.join(f'{a}={b}' for a, b in sorted(links.items()))}"] if links else []
        lines.append("")
        inner = indent + "   "
        doc = next((entity.leader.doc for entity in group if entity.leader.doc), None)
        entity = shown[0][1]
        if made_by_macro and entity.kind in COMPOUNDS and entity.name.endswith("Impl"):
            lines += [f"{inner}The module that :api:ref:`{entity.name[:-4]} <{entity.qualified[:-4]}>` holds.", ""]
        elif doc and not (made_by_macro and entity.in_class):
            lines += self.text(doc, entity.qualified if entity.kind in COMPOUNDS else scope, inner)
        if entity.kind == "enum":
            lines += self.enumerators(entity, header, inner)
        if entity.kind in COMPOUNDS:
            if made_by_macro and not entity.name.endswith("Impl") and "FOLD" not in source and \
                    f"{entity.qualified}Impl" in self.targets.get(f"{entity.name}Impl", ()):
                lines += [f"{inner}The holder of :api:ref:`{entity.name}Impl <{entity.qualified}Impl>`: a handle that is "
                          "copied and called like a function.", ""]
            if any("TANDEM_ARG(" in header.lines[child.line] for child in children):
                lines += [f"{inner}Each option ``x`` below is private: ``x(value)`` sets it and returns the options, and "
                          "``x()`` returns it.", ""]
        return lines

    def block(self, entities, header, indent, scope_depth=0):
        """Returns the entries of sibling entities, those with one comment together."""
        lines, i, section = [], 0, ""
        while i < len(entities):
            entity, group = entities[i], [entities[i]]
            if entity.section != section and entity.section:
                heading, _, rest = entity.section.partition(": ")
                heading = heading.strip()[:1].upper() + heading.strip()[1:]
                if indent or len(heading) > 60:
                    lines += [f"{indent}.. rubric:: {escape(heading)}", ""]
                else:
                    lines += title(escape(heading), "-")
                if rest:
                    lines += self.text([rest], entity.scope, indent)
            section = entity.section
            if entity.kind not in COMPOUNDS | {"enum"}:
                while i + len(group) < len(entities):
                    other = entities[i + len(group)]
                    if other.kind != entity.kind or not (
                            other.leader is entity.leader and (entity.leader.doc or other.name == entity.name)
                            or other.name == entity.name and not other.doc):
                        break
                    group.append(other)
            i += len(group)
            children = [e for e in self.reference.entities[header.path]
                        if e.in_class and e.scope == entity.qualified and self.is_shown(e) and
                        (e.line != entity.line or e.name in ("forward", "options", "forward_with_indices"))] \
                if entity.kind in COMPOUNDS else []
            entry = self.entry(group, header, indent, children)
            heading = self.heading(entity, entities, children) if entry and not indent else ""
            lines += title(escape(heading), "-") if heading else []
            lines += entry
            if entry and children:
                inherited = [c for c in children if self.is_plain_override(c)]
                rest = [c for c in children if c not in inherited]
                lines += self.block(rest, header, indent + "   ")
        return lines

    @staticmethod
    def heading(entity, siblings, children):
        """Returns the heading of a class with members: a module has that of its holder."""
        if entity.kind not in COMPOUNDS or entity.section:
            return ""
        twins = [other for other in siblings if other.line == entity.line and other is not entity]
        if twins:  # a macro made both the module and its holder
            return "" if entity.name.endswith("Impl") else entity.name
        return entity.name.removesuffix("Impl") if children else ""

    @staticmethod
    def is_plain_override(entity):
        return not entity.doc and entity.kind == "function" and (
            entity.element.find("reimplements") is not None or
            "override" in text_of(entity.element.find("argsstring"))) and entity.name != "forward"

    def page(self, path):
        header = self.reference.headers[path]
        name = path.removeprefix("tandem/")
        lines = title(name, "=")
        lines += [".. code-block:: cpp", "", f"   #include <{path}>", ""]
        folder = name.split("/")[0]
        lines += [f"Guide: :doc:`/{guide_of(path) or 'index'}`. "
                  + (f"Other headers: :doc:`{folder}/ </api/{folder}>`." if "/" in name else ""), ""]
        lines += self.text(header.intro, "tandem", "")
        if path not in UNAVAILABLE:
            top = [e for e in self.reference.entities[path] if not e.in_class and self.is_shown(e)]
            lines += self.block(top, header, "")
        return ":orphan:\n\n" + "\n".join(lines) + "\n"  # hundreds of pages in the navigation would slow each one

    def write(self, output):
        folders = {}
        for path in sorted(self.reference.headers):
            name = path.removeprefix("tandem/").removesuffix(".h")
            target = os.path.join(output, name + ".rst")
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "w", encoding="utf-8") as file:
                file.write(self.page(path))
            folders.setdefault(name.split("/")[0] if "/" in name else "", []).append(name)
        index = title("API reference", "=")
        index += ["A page for each public header. ``tandem/tandem.h`` includes what most programs need.", ""]
        entries = []
        for folder, names in sorted(folders.items()):
            if not folder:
                entries += names
                continue
            entries.append(folder)
            page = title(f"{folder}/", "=") + [FOLDERS[folder] + ".", "", ".. list-table::", "   :widths: 35 65", ""]
            for name in names:
                intro = " ".join(self.reference.headers[f"tandem/{name}.h"].intro)
                sentence = re.split(r"(?<=[a-z)])\. |:$", intro)[0].rstrip(".")
                sentence = re.sub(r"^[\w, ]{3,60}: (?=[a-z])", "", sentence)
                sentence = sentence[:1].upper() + sentence[1:]
                page += [f"   * - :doc:`{name}.h </api/{name}>`", f"     - {self.inline(sentence, 'tandem')}"]
            with open(os.path.join(output, folder + ".rst"), "w", encoding="utf-8") as file:
                file.write("\n".join(page) + "\n")
        index += [".. list-table::", "   :widths: 20 80", ""]
        for entry in entries:
            text = FOLDERS[entry] if entry in FOLDERS else \
                self.inline(" ".join(self.reference.headers[f"tandem/{entry}.h"].intro).split(". ")[0], "tandem")
            label = entry + ("/" if entry in FOLDERS else ".h")
            index += [f"   * - :doc:`{label} </api/{entry}>`", f"     - {text}"]
        index += ["", ".. toctree::", "   :hidden:", "", *("   " + e for e in entries if e in FOLDERS)]
        with open(os.path.join(output, "index.rst"), "w", encoding="utf-8") as file:
            file.write("\n".join(index) + "\n")
