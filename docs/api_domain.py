"""A Sphinx domain for the API reference: a directive for declarations and a role for links to them.

Sphinx's own C++ domain parses every declaration and looks each name up in a list; for the 5,000 declarations of tandem it
needs two minutes. scripts/docs_api_pages.py writes declarations whose qualified names it knows already.
"""
import re

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx import addnodes
from sphinx.domains import Domain, ObjType
from sphinx.roles import XRefRole
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_refnode

KEYWORDS = set("auto bool char class const constexpr double enum explicit float int int64_t namespace noexcept operator "
               "requires size_t static struct template typename union unsigned using virtual void".split())
TOKEN = re.compile(r"\w+(?:::\w+)*|\s+|.", re.S)


class Declaration(SphinxDirective):
    """Signatures, a line each, that share a description. `names` has the qualified name of each, separated by `; `;
    types in the signatures that `links` gives as `word=qualified name` become links."""
    has_content = True
    required_arguments = 1
    final_argument_whitespace = True
    option_spec = {"kind": directives.unchanged_required, "names": directives.unchanged_required,
                   "links": directives.unchanged}

    def run(self):
        kind = self.options["kind"]
        links = dict(pair.split("=", 1) for pair in self.options.get("links", "").split())
        description = addnodes.desc(domain="api", objtype=kind, desctype=kind, classes=["api", kind])
        domain = self.env.get_domain("api")
        for signature, name in zip(self.arguments[0].splitlines(), self.options["names"].split("; "), strict=True):
            node = addnodes.desc_signature("", "", classes=["sig", "cpp"])
            anchor = domain.note(name, kind, self.env.docname)
            node["ids"].append(anchor)
            short, seen = name.rsplit("::", 1)[-1], False
            for match in TOKEN.finditer(signature.strip()):
                text = match.group()
                if text == short and not seen:
                    node += addnodes.desc_name(text, text)
                    seen = True
                elif text in KEYWORDS:
                    node += addnodes.desc_sig_keyword(text, text)
                elif text in links:
                    link = addnodes.pending_xref("", nodes.Text(text), refdomain="api", reftype="ref",
                                                 reftarget=links[text], refexplicit=True, refdoc=self.env.docname)
                    node += link
                else:
                    node += nodes.Text(text)
            description += node
        content = addnodes.desc_content()
        self.state.nested_parse(self.content, self.content_offset, content)
        description += content
        return [description]


class Api(Domain):
    name = "api"
    label = "API"
    object_types = {kind: ObjType(kind, "ref") for kind in
                    ("class", "struct", "union", "enum", "function", "variable", "typedef", "define")}
    directives = {"declaration": Declaration}
    roles = {"ref": XRefRole()}
    initial_data = {"objects": {}}  # qualified name -> (page, anchor, kind) of its first entry

    def note(self, name, kind, page):
        """Remembers an entry, and returns its anchor."""
        anchor, number = re.sub(r"\W+", "-", name), 1
        anchors = self.env.temp_data.setdefault("api_anchors", set())
        while anchor in anchors:
            number += 1
            anchor = f"{re.sub(r'[^0-9A-Za-z_]+', '-', name)}-{number}"
        anchors.add(anchor)
        self.data["objects"].setdefault(name, (page, anchor, kind))
        return anchor

    def clear_doc(self, docname):
        for name, (page, _, _) in list(self.data["objects"].items()):
            if page == docname:
                del self.data["objects"][name]

    def merge_domaindata(self, docnames, otherdata):
        for name, entry in otherdata["objects"].items():
            if entry[0] in docnames:
                self.data["objects"].setdefault(name, entry)

    def resolve_xref(self, env, fromdocname, builder, typ, target, node, contnode):
        entry = self.data["objects"].get(target)
        return make_refnode(builder, fromdocname, entry[0], entry[1], contnode, target) if entry else None

    def resolve_any_xref(self, env, fromdocname, builder, target, node, contnode):
        return []

    def get_objects(self):
        for name, (page, anchor, kind) in self.data["objects"].items():
            # The search shows the formulas of kernels last.
            yield name, name.removeprefix("tandem::"), kind, page, anchor, 2 if page.startswith("api/math/") else 1


def setup(app):
    app.add_domain(Api)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
