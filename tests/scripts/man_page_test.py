"""The manual page tools/tandem.1.in has the commands, arguments, options, choices and defaults that --help prints.

Usage: man_page_test.py [PATH_OF_THE_TOOL]    exits 77 without a path: the tool is not built
"""
import pathlib
import re
import subprocess
import sys
import unittest

TOOL = sys.argv.pop(1) if len(sys.argv) > 1 else ""
PAGE = pathlib.Path(__file__).resolve().parents[2] / "tools" / "tandem.1.in"
PROGRAM = "tandem"


def sections_of(page):
    """Returns {"tandem info": its text, ...} of a manual page without its macros."""
    text = re.sub(r"(?m)^\.(?:[BIR]{1,2}) (.*)", lambda m: re.sub(r'["\s]+', " ", m[1]), page.replace("\\-", "-"))
    return dict(re.findall(rf"(?ms)^\.SS ({PROGRAM}.*?)\n(.*?)(?=^\.S[SH] |\Z)", text))


def described(section):
    """Returns the options and arguments that the paragraphs of a section begin with: {name: paragraph}."""
    paragraphs = {}
    for tag, text in re.findall(r"(?ms)^\.TP\n(.*?)\n(.*?)(?=^\.TP|\Z)", section):
        for name in re.findall(r"--[\w-]+", tag) or [tag]:
            paragraphs[name] = text
    return paragraphs


def parse_help(text):
    """Returns the commands in what --help prints, and {option or argument: its choices and default}."""
    listed = re.search(r"(?is)\bsubcommands:\n(.*)", text)
    commands = set(re.findall(r"(?m)^  (\w+)", listed[1])) if listed else set()
    names = {}
    for name, rest in re.findall(r"(?m)^ +(?:-\w,? *)?(--[\w-]+)(.*)", text):
        choices = re.search(r"\{(.*?)\}", rest)
        defaults = re.findall(r"=(\S+)| \[(\S+)\]", rest)  # CLI11 before and since 2.4
        names[name] = [*map("".join, defaults), *(choices[1].split(",") if choices else [])]
    usage = re.search(r"\[OPTIONS\](.*)", text)
    names.update((name.strip("."), []) for name in usage[1].split() if name != "SUBCOMMAND")
    return commands, names


class Parsing(unittest.TestCase):
    def test_sections(self):
        sections = sections_of('.SS tandem\n.TP\n.BR \\-h ", " \\-\\-help\nx\n.SS tandem a\n.TP\n.I FILE\ny\n'
                               '.TP\n.BI \\-\\-to\\-f16 " N"\n.BR f16 .\n.SH END\n.TP\n.B no\n')
        self.assertEqual({name: described(text) for name, text in sections.items()},
                         {"tandem": {"--help": "x\n"}, "tandem a": {"FILE": "y\n", "--to-f16": "f16 .\n"}})

    def test_help(self):
        text = ("Usage: tandem a [OPTIONS] IN FILE...\n\nOptions:\n  -h,--help    Print\n"
                "  --dtype TEXT:{f16,f32}=f32 Excludes: --b\n             Cast --x\n")
        self.assertEqual(parse_help(text),
                         (set(), {"--help": [], "--dtype": ["f32", "f16", "f32"], "IN": [], "FILE": []}))
        text = "Usage: tandem a [OPTIONS]\n\nOptions:\n  --batch INT:INT in [1 - 9] [3]   Excludes: --x\n"
        self.assertEqual(parse_help(text), (set(), {"--batch": ["3"]}))
        text = "Usage: tandem [OPTIONS] SUBCOMMAND\n\nSubcommands:\n  info      Describes\n  b2        Does\n"
        self.assertEqual(parse_help(text), ({"info", "b2"}, {}))


class Page(unittest.TestCase):
    def help(self, *command):
        result = subprocess.run([TOOL, *command, "--help"], capture_output=True, text=True, check=True, timeout=60)
        return parse_help(result.stdout)

    def test_names_what_help_names(self):
        page = PAGE.read_text()
        sections = sections_of(page)
        commands = self.help()[0]
        self.assertGreater(len(commands), 3)
        self.assertEqual(set(sections), {PROGRAM, *(f"{PROGRAM} {command}" for command in commands)})
        synopsis = page.partition(".SH SYNOPSIS\n")[2].partition(".SH ")[0]
        for section, text in sections.items():
            self.assertIn(f".B {section}", synopsis)
            _, names = self.help(*section.split()[1:])
            paragraphs = described(text)
            self.assertEqual(set(paragraphs), set(names), section)
            for name, values in names.items():
                for value in values:
                    self.assertRegex(paragraphs[name], rf"(?<![\w.,]){re.escape(value)}(?!,?\w)", f"{section} {name}")


if __name__ == "__main__":
    if not TOOL:
        print("man_page: the tool is not built")
        sys.exit(77)
    unittest.main()
