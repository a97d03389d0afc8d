"""Module, the base class of layers and models, and its containers.

A module is a Python object that owns tensors of C++: Python's garbage collector sees all of its references.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

from .. import _tandem
from .._modes import no_grad
from .._tandem import StateError, Tensor

_AnyModule = TypeVar("_AnyModule", bound="Module")


class IncompatibleKeys(NamedTuple):
    """The names in which a state dict and a module differ."""

    missing_keys: list[str]
    unexpected_keys: list[str]


class Parameter(Tensor):
    """A tensor that a module registers when it is assigned to an attribute. Shares the memory of `data`."""

    def __init__(self, data: Tensor, requires_grad: bool = True) -> None:
        super().__init__(data.detach())
        self.requires_grad_(requires_grad)
        self._mark_parameter()

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()

    def __copy__(self) -> Parameter:
        return Parameter(self, self.requires_grad)

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        return memo.setdefault(id(self), Parameter(self.detach().clone(), self.requires_grad))


class Module:
    """Base class of layers and models. Parameters and submodules are registered by assigning them to attributes:

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc1 = nn.Linear(784, 256)
                self.fc2 = nn.Linear(256, 10)

            def forward(self, x):
                return self.fc2(nn.functional.relu(self.fc1(x)))
    """

    training: bool

    def __init__(self) -> None:
        # Assigned to __dict__, because __setattr__ needs them.
        self.__dict__.update(training=True, _parameters={}, _buffers={}, _modules={})

    # ---- registering
    def __setattr__(self, name: str, value: Any) -> None:
        kind = "_parameters" if isinstance(value, Parameter) else "_modules" if isinstance(value, Module) else None
        if kind is not None:
            self._register(kind, name, value)
            return
        for owner in ("_parameters", "_buffers", "_modules"):
            entries = self.__dict__.get(owner, {})
            if name in entries:
                if value is not None and not (owner == "_buffers" and isinstance(value, Tensor)):
                    raise TypeError(
                        f"{name} is registered in {owner[1:]} of {type(self).__name__}, and cannot become a "
                        f"{type(value).__name__}; assign another of its kind, or None"
                    )
                entries[name] = value
                return
        super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:  # called only for names that are not in __dict__
        for owner in ("_parameters", "_buffers", "_modules"):
            entries = self.__dict__.get(owner, {})
            if name in entries:
                return entries[name]
        raise AttributeError(f"{type(self).__name__} has no attribute '{name}'")

    def __delattr__(self, name: str) -> None:
        for owner in ("_parameters", "_buffers", "_modules"):
            if name in self.__dict__.get(owner, {}):
                del self.__dict__[owner][name]
                return
        super().__delattr__(name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._parameters, *self._buffers, *self._modules]

    def _register(self, kind: str, name: str, value: Any) -> None:
        if kind not in self.__dict__:
            raise AttributeError(f"call super().__init__() in {type(self).__name__} before assigning '{name}'")
        if not isinstance(name, str) or not name or "." in name:
            raise StateError(f"{type(self).__name__}: the name {name!r} must be text, not empty and without dots")
        self.__dict__.pop(name, None)
        for owner in ("_parameters", "_buffers", "_modules"):
            if owner != kind:
                self.__dict__[owner].pop(name, None)
        self.__dict__[kind][name] = value

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Registers a Parameter, or None to reserve the name."""
        self._register("_parameters", name, param)

    def register_buffer(self, name: str, tensor: Tensor | None) -> None:
        """Registers a tensor that is moved and saved with the module but not trained."""
        self._register("_buffers", name, tensor)

    def register_module(self, name: str, module: Module | None) -> None:
        """Registers a submodule, or None to reserve the name."""
        self._register("_modules", name, module)

    add_module = register_module

    # ---- calling
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Computes the output. Overridden by each module."""
        raise NotImplementedError(f"{type(self).__name__} does not define forward()")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.forward(*args, **kwargs)

    # ---- listing: what has several names is listed once, with the first of them
    def named_modules(self, prefix: str = "", _seen: set[int] | None = None) -> Iterator[tuple[str, Module]]:
        """Yields this module and all submodules, with names such as 'block.fc1'."""
        seen = set() if _seen is None else _seen
        if id(self) in seen:
            return
        seen.add(id(self))
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(f"{prefix}.{name}" if prefix else name, seen)

    def modules(self) -> Iterator[Module]:
        for _, module in self.named_modules():
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        seen: set[int] = set()
        for name, module in self._modules.items():
            if module is not None and id(module) not in seen:
                seen.add(id(module))
                yield name, module

    def children(self) -> Iterator[Module]:
        for _, module in self.named_children():
            yield module

    def _named(self, kind: str, recurse: bool, prefix: str = "") -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        for path, module in self.named_modules(prefix) if recurse else [(prefix, self)]:
            for name, value in getattr(module, kind).items():
                if value is not None and id(value) not in seen:
                    seen.add(id(value))
                    yield (f"{path}.{name}" if path else name), value

    def named_parameters(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Parameter]]:
        """Yields names such as 'fc1.weight', and parameters."""
        return self._named("_parameters", recurse, prefix)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Tensor]]:
        return self._named("_buffers", recurse, prefix)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    # ---- modes
    def train(self: _AnyModule, mode: bool = True) -> _AnyModule:
        """Sets training mode, on which dropout and batch norm depend, here and in all submodules."""
        self.training = bool(mode)
        for module in self.children():
            module.train(mode)
        return self

    def eval(self: _AnyModule) -> _AnyModule:
        return self.train(False)

    def requires_grad_(self: _AnyModule, requires_grad: bool = True) -> _AnyModule:
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Removes the gradients of all parameters, or fills them with zeros."""
        for parameter in self.parameters():
            if set_to_none:
                parameter.grad = None
            elif parameter.grad is not None:
                parameter.grad.detach_().zero_()

    def apply(self: _AnyModule, fn: Callable[[Module], object]) -> _AnyModule:
        """Calls fn(module) for all submodules, then for this module."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    # ---- moving: parameters and buffers keep their identity, so optimizers stay valid
    def to(self: _AnyModule, *args: Any, **kwargs: Any) -> _AnyModule:
        """Takes the arguments of Tensor.to(). A dtype converts floating tensors only."""
        probe = _tandem.empty(0).to(*args, **kwargs)
        device, dtype = probe.device, probe.dtype
        changes_dtype = _names_dtype(args, kwargs)
        if changes_dtype and not dtype.is_floating_point:
            raise _tandem.DTypeError(f"{type(self).__name__}.to: {dtype} is not a floating dtype")
        target = device if _names_device(args, kwargs) else None

        def convert(x: Tensor) -> Tensor:
            return x.to(target, dtype if changes_dtype and x.is_floating_point() else None)

        with no_grad():
            for x in [*self.parameters(), *self.buffers()]:
                grad = x.grad
                x.set_data(convert(x.detach()))
                if grad is not None:
                    x.grad = convert(grad)
        return self

    def cpu(self: _AnyModule) -> _AnyModule:
        return self.to("cpu")

    def cuda(self: _AnyModule) -> _AnyModule:
        return self.to("cuda")

    def float(self: _AnyModule) -> _AnyModule:
        return self.to(_tandem.dtype.float32)

    def double(self: _AnyModule) -> _AnyModule:
        return self.to(_tandem.dtype.float64)

    def half(self: _AnyModule) -> _AnyModule:
        return self.to(_tandem.dtype.float16)

    def bfloat16(self: _AnyModule) -> _AnyModule:
        return self.to(_tandem.dtype.bfloat16)

    # ---- saving and loading
    def state_dict(self) -> dict[str, Tensor]:
        """Returns parameters and buffers by name, detached, sharing memory with the module. A tensor with several
        names is listed with each of them."""
        state: dict[str, Tensor] = {}
        self._add_state(state, "")
        return state

    def _add_state(self, state: dict[str, Tensor], prefix: str) -> None:
        for values in (self._parameters, self._buffers):
            for name, value in values.items():
                if value is not None:
                    state[prefix + name] = value.detach()
        for name, module in self._modules.items():
            if module is not None:
                module._add_state(state, f"{prefix}{name}.")

    def load_state_dict(self, state_dict: Mapping[str, Tensor], strict: bool = True) -> IncompatibleKeys:
        """Copies the values to the parameters and buffers. Raises StateError, and changes nothing, if sizes differ or,
        if `strict`, keys are missing or unexpected; the message lists all of them."""
        own = self.state_dict()
        missing = [key for key in own if key not in state_dict]
        unexpected = [key for key in state_dict if key not in own]
        errors = []
        for key, value in state_dict.items():
            if not isinstance(value, Tensor):
                errors.append(f"{key} is no tensor, but a {type(value).__name__}")
            elif key in own and tuple(own[key].shape) != tuple(value.shape):
                errors.append(f"{key} has sizes {list(own[key].shape)}, the state {list(value.shape)}")
        if strict:
            errors += [f"{key} is missing" for key in missing] + [f"{key} is unexpected" for key in unexpected]
        if errors:
            raise StateError(f"load_state_dict: the state does not fit {type(self).__name__}: " + "; ".join(errors))
        with no_grad():
            for key, value in state_dict.items():
                if key in own:
                    own[key].copy_(value)
        return IncompatibleKeys(missing, unexpected)

    # ---- printing
    def extra_repr(self) -> str:
        """The arguments in this module's line of repr()."""
        return ""

    def __repr__(self) -> str:
        lines = [f"({name}): " + repr(module).replace("\n", "\n  ") for name, module in self._modules.items()]
        inner = "\n  " + "\n  ".join(lines) + "\n" if lines else ""
        return f"{type(self).__name__}({self.extra_repr()}{inner})"


def _names_dtype(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    return kwargs.get("dtype") is not None or any(isinstance(a, (_tandem.dtype, Tensor)) for a in args)


def _names_device(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    return kwargs.get("device") is not None or any(isinstance(a, (str, _tandem.device, Tensor)) for a in args)


class Sequential(Module):
    """Modules that are called in turn, each with the output of the one before: Sequential(a, b) or Sequential({...})."""

    def __init__(self, *modules: Module | dict[str, Module]) -> None:
        super().__init__()
        named = modules[0].items() if len(modules) == 1 and isinstance(modules[0], dict) else enumerate(modules)
        for name, module in named:
            self.register_module(str(name), module)

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)
        return input

    def append(self: _AnyModule, module: Module) -> _AnyModule:
        self.register_module(str(len(self)), module)
        return self

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._modules.values())

    def __getitem__(self, index: int | slice) -> Any:
        values = list(self._modules.values())
        return type(self)(*values[index]) if isinstance(index, slice) else values[index]


class ModuleList(Sequential):
    """A list of modules, which are registered but not called."""

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        super().__init__(*modules)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("ModuleList does not define forward(); call its modules")

    def __getitem__(self, index: int | slice) -> Any:
        values = list(self._modules.values())
        return ModuleList(values[index]) if isinstance(index, slice) else values[index]
