"""Writes the type stubs of the extension module tandem._tandem, which nanobind generates, into a folder.

Usage: make_stubs.py PACKAGES    where PACKAGES/tandem is the package; the stubs become PACKAGES/tandem/_tandem/*.pyi

nanobind's stubs are corrected where type checkers would misread them:
- In a class with a method `int`, the annotation `int` means the method. Such annotations become `builtins.int`, and those
  with the name of a class or module `_device` or `_numpy`, aliases.
- tandem's errors, which say that they belong to `tandem`, would be imported from there, in a circle.
"""
import ast
import builtins
import importlib
import inspect
import pathlib
import shutil
import subprocess
import sys
import tempfile

MODULE = "tandem._tandem"


def annotations(member):
    """Yields what may have an annotation in a member of a class, as (node, attribute)."""
    if isinstance(member, ast.AnnAssign):
        yield member, "annotation"
    elif isinstance(member, ast.FunctionDef):
        yield member, "returns"
        args = member.args
        for argument in [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]:
            if argument is not None:
                yield argument, "annotation"


class Qualify(ast.NodeTransformer):
    """Replaces the names in an annotation that are also members of the class."""

    def __init__(self, members, aliases):
        self.members, self.aliases = members, aliases

    def visit_Name(self, node):
        if node.id not in self.members:
            return node
        if hasattr(builtins, node.id):
            return ast.parse("builtins." + node.id, mode="eval").body
        self.aliases.add(node.id)
        return ast.Name("_" + node.id)


def error_classes(names):
    """Returns the source of the classes of errors."""
    module, source = importlib.import_module(MODULE), ""
    for name in sorted(names, key=lambda name: len(getattr(module, name).__mro__)):
        error = getattr(module, name)
        bases = [("builtins." if base.__module__ == "builtins" else "") + base.__name__ for base in error.__bases__]
        source += f"class {name}({', '.join(bases)}):\n    {inspect.getdoc(error)!r}\n"
        if name == "Error":
            source += "    op: str\n"
    return source


def correct(text, version):
    """Returns the corrected text of a stub; with `version`, also `__version__`, which nanobind leaves out."""
    tree = ast.parse(text)
    aliases = set()
    for scope in [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]:
        members = {node.name for node in scope.body if isinstance(node, ast.FunctionDef)}
        members |= {target.id for node in scope.body if isinstance(node, ast.Assign) for target in node.targets}
        for member in scope.body:
            for node, attribute in annotations(member):
                annotation = getattr(node, attribute)
                if annotation is not None:
                    setattr(node, attribute, Qualify(members, aliases).visit(annotation))
    body = []
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == "tandem":
            body += ast.parse(error_classes([name.name for name in node.names])).body
        else:
            body.append(node)
    after_imports = 1 + max((i for i, node in enumerate(body) if isinstance(node, (ast.Import, ast.ImportFrom))), default=0)
    body[after_imports:after_imports] = ast.parse("import builtins\nfrom collections.abc import Iterator").body
    tree.body = body + ast.parse("".join(f"_{name} = {name}\n" for name in sorted(aliases))).body
    if version:
        tree.body += ast.parse("__version__: str").body
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def main():
    packages = pathlib.Path(sys.argv[1]).resolve()
    sys.path.insert(0, str(packages))
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "nanobind.stubgen", "--quiet", "--recursive", "--include-private",
                        "--import", packages, "--module", MODULE, "--output-dir", folder], check=True)
        source, target = pathlib.Path(folder, "_tandem"), packages / "tandem" / "_tandem"
        shutil.rmtree(target, ignore_errors=True)
        for path in source.rglob("*.pyi"):
            out = target / path.relative_to(source)
            out.parent.mkdir(parents=True, exist_ok=True)
            out.write_text(correct(path.read_text(), version=path.parent == source and path.stem == "__init__"))


if __name__ == "__main__":
    main()
