#!/usr/bin/env python3
"""Makes the source of the documentation site from docs/ and CONTRIBUTING.md, for Sphinx. The pages are Markdown that
also reads well on GitHub; here

  - the lists of docs/index.md become the navigation, with their headings as captions;
  - links to other files of the repository become links to the API reference (headers) or to copies of the files;
  - the badges of the README are left out: their addresses are relative to the repository's page on GitHub.

Usage: docs_site.py OUTPUT      prints the links that lead nowhere, and exits 1 if there are any
"""
import os
import re
import shutil
import sys

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
LINK = re.compile(r"(?<=\])\((?!https?:|mailto:)([^)#\s]*)(#[^)\s]*)?\)")
BADGE = re.compile(r"^\[!\[.*\]\(\.\./\.\./actions/.*\)\n", flags=re.M)
LANGUAGES = {".cpp": "cpp", ".h": "cpp", ".cu": "cuda", ".inc": "cpp", ".cmake": "cmake", ".py": "python", ".sh": "bash",
             ".json": "json"}
LINES = 400  # longer files are cut: the site is no copy of the repository


class Site:
    def __init__(self, output):
        self.output = output
        self.broken = []
        self.files = set()  # files of the repository to copy

    def target_of(self, page, target):
        """Returns where a link of a page leads within the site; notes files to copy and broken links."""
        path = os.path.normpath(os.path.join(os.path.dirname(page), target))
        if path == "docs/api/index.rst":
            return "api/index.rst"
        if not os.path.exists(os.path.join(ROOT, path)) or path.startswith(".."):
            self.broken.append(f"{page}: {target} does not exist")
            return target
        if path == "README.md":
            return "readme.md"
        if path == "CONTRIBUTING.md":
            return "contributing.md"
        if re.fullmatch(r"docs/[\w-]+\.md", path) or path.startswith("docs/pictures/"):
            return path.removeprefix("docs/")
        if re.fullmatch(r"include/tandem/.*\.h", path) and not path.endswith("-inl.h"):
            return "api/" + path.removeprefix("include/tandem/").removesuffix(".h") + ".rst"
        self.files.add(path)
        return f"files/{path}.rst"

    def convert(self, page, text):
        """Returns the text of a page with its links changed, outside of code."""
        parts = re.split(r"(^```.*?^```$|^    .*?$|`[^`\n]*`(?!\]))", text, flags=re.S | re.M)
        for i in range(0, len(parts), 2):
            parts[i] = LINK.sub(lambda m: f"({self.target_of(page, m[1]) if m[1] else ''}{m[2] or ''})", parts[i])
        return "".join(parts)

    def write(self, name, text):
        path = os.path.join(self.output, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def index(self, text):
        """Adds the navigation to the index page: a toctree for each list."""
        for section in re.split(r"^## ", text, flags=re.M)[1:]:
            caption, _, body = section.partition("\n")
            names = re.findall(r"^- \[([^\]]*)\]\(([^)]*)\)", body, flags=re.M)
            if not names:
                continue
            entries = "\n".join(f"{title} <{re.sub(r'[.](md|rst)$', '', target)}>" for title, target in names)
            text += f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{entries}\n```\n"
        return text

    def copy_file(self, path):
        """Makes a page that shows a file or lists a folder."""
        title = path
        full = os.path.join(ROOT, path)
        lines = [":orphan:", "", title, "=" * len(title), ""]
        if os.path.isdir(full):
            names = sorted(name for name in os.listdir(full)
                           if os.path.isfile(os.path.join(full, name)) and os.path.splitext(name)[1] in LANGUAGES)
            for name in names:
                self.copy_file(f"{path}/{name}")
                lines.append(f"- :doc:`{name} </files/{path}/{name}>`")
        else:
            with open(full, encoding="utf-8", errors="replace") as file:
                content = file.read().splitlines()
            lines += [f".. code-block:: {LANGUAGES.get(os.path.splitext(path)[1], 'none')}", ""]
            lines += ["   " + line for line in content[:LINES]]
            if len(content) > LINES:
                lines += ["", f"The first {LINES} of {len(content)} lines."]
        self.write(f"files/{path}.rst", "\n".join(lines) + "\n")

    def make(self):
        pages = {name: "docs/" + name for name in sorted(os.listdir(os.path.join(ROOT, "docs"))) if name.endswith(".md")}
        pages |= {"contributing.md": "CONTRIBUTING.md", "readme.md": "README.md"}
        for name, page in pages.items():
            with open(os.path.join(ROOT, page), encoding="utf-8") as file:
                text = self.convert(page, BADGE.sub("", file.read()))
            if name == "readme.md":
                text = "---\norphan: true\n---\n" + text
            self.write(name, self.index(text) if name == "index.md" else text)
        for path in sorted(self.files):
            self.copy_file(path)
        for folder in ("pictures", "_static"):
            shutil.copytree(os.path.join(ROOT, "docs", folder), os.path.join(self.output, folder), dirs_exist_ok=True)


def main():
    site = Site(sys.argv[1])
    site.make()
    for message in site.broken:
        print(message)
    print(f"site: {len(site.files)} files of the repository are linked, {len(site.broken)} broken links")
    return 1 if site.broken else 0


if __name__ == "__main__":
    sys.exit(main())
