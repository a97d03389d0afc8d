#!/usr/bin/env python3
"""Checks the links of the documentation site: every link to a page, an anchor, a picture or a script of the site must
lead somewhere. Links to other sites are not followed.

Usage: docs_links.py SITE
"""
import os
import sys
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.ids, self.links = set(), []

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.ids.add(value)
            elif name in ("href", "src") and value and tag != "base":
                self.links.append(value)


def read(path):
    page = Page()
    with open(path, encoding="utf-8") as file:
        page.feed(file.read())
    return page


def main():
    site = sys.argv[1]
    pages = {}
    for folder, _, names in os.walk(site):
        for name in names:
            path = os.path.join(folder, name)
            pages[os.path.normpath(path)] = read(path) if name.endswith(".html") else None
    messages, links = [], 0
    for path, page in sorted(pages.items()):
        for link in page.links if page else ():
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            links += 1
            target = os.path.normpath(os.path.join(os.path.dirname(path), unquote(parts.path))) if parts.path else path
            if os.path.isdir(target):
                target = os.path.join(target, "index.html")
            if target not in pages:
                messages.append(f"{path}: {link} does not exist")
            elif parts.fragment and pages[target] and unquote(parts.fragment) not in pages[target].ids:
                messages.append(f"{path}: {link}: the page has no such anchor")
    for message in sorted(set(messages)):
        print(message)
    print(f"links: {len(pages)} files, {links} links, {len(set(messages))} broken")
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main())
