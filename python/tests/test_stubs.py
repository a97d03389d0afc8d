"""The type stubs list all public names of the extension, and mypy accepts a program with annotations."""

import ast
import inspect
import pathlib
import subprocess
import sys
import types

import pytest

import tandem as tt
from tandem import _tandem

PACKAGE = pathlib.Path(tt.__file__).parent
PROGRAM = pathlib.Path(__file__).parent / "typed_program.py"


def modules(module, path=PACKAGE / "_tandem"):
    """Yields the extension and its submodules, each with its stub."""
    submodules = [value for value in vars(module).values() if isinstance(value, types.ModuleType)]
    yield module, path / "__init__.pyi" if submodules else path.with_suffix(".pyi")
    for submodule in submodules:
        yield from modules(submodule, path / submodule.__name__.rpartition(".")[2])


def names_in(body):
    names = set()
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names.update(target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign):
            names.add(node.target.id)
    return names


def public(names):
    return {name for name in names if not name.startswith("_")}


def test_every_public_name_is_in_the_stubs():
    assert (PACKAGE / "py.typed").exists()
    assert len(list(modules(_tandem))) > 5
    for module, stub in modules(_tandem):
        body = ast.parse(stub.read_text()).body
        listed = names_in(body)
        expected = {name for name, value in vars(module).items() if not isinstance(value, types.ModuleType)}
        assert public(expected) <= listed, stub
        for node in body:
            if isinstance(node, ast.ClassDef):
                members = public(vars(getattr(module, node.name)))
                if issubclass(getattr(module, node.name), tt.dtype):
                    members = {value.name for value in tt.dtype} | {"itemsize", "is_floating_point"}
                assert members <= names_in(node.body), f"{stub}: {node.name}"


def test_every_function_of_the_package_has_annotations():
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] == "tandem" and getattr(module, "__file__", "").endswith(".py"):
            for node in ast.walk(ast.parse(inspect.getsource(module))):
                if isinstance(node, ast.FunctionDef):
                    arguments = [*node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
                    for argument in arguments:
                        assert argument is None or argument.arg in ("self", "cls") or argument.annotation, (name, node.name)
                    assert node.returns, (name, node.name)


def test_mypy_accepts_a_program(tmp_path):
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", str(PROGRAM)]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr


def test_mypy_finds_a_mistake(tmp_path):
    pytest.importorskip("mypy")
    program = tmp_path / "program.py"
    program.write_text("import tandem as tt\n\ntt.zeros(3).sum().backwards()\ntt.relu(3)\ntt.no_such_function()\n")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", str(program)]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert "Found 3 errors" in result.stdout, result.stdout + result.stderr


def test_the_program_runs(tmp_path):
    pytest.importorskip("typing_extensions")
    namespace = {"__name__": "typed_program"}
    exec(compile(PROGRAM.read_text(), str(PROGRAM), "exec"), namespace)
    assert namespace["train"](str(tmp_path / "net.safetensors")) > 0.8
    namespace["types"]()
