"""A Sphinx extension: the words by which the site's search finds a section. A comment below a heading,

    <!-- search: nan loss, loss is nan -->

is invisible, and makes these words entries of the search index that lead to the section.
"""
import re

from docutils import nodes
from sphinx import addnodes

COMMENT = re.compile(r"<!-- search: (.*?) -->", re.S)


def index_words(app, doctree):
    """Replaces the comments of a page by entries of the index."""
    for comment in list(doctree.findall(nodes.raw)):
        match = COMMENT.fullmatch(comment.astext().strip())
        if match:
            words = [word.strip() for word in match[1].split(",")]
            section = comment.parent["ids"][0]
            comment.replace_self(addnodes.index(entries=[("single", word, section, "main", None) for word in words]))


def setup(app):
    app.connect("doctree-read", index_words)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
