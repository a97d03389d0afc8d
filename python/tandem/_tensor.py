"""What Tensor and dtype need of Python: construction from data, conversion to numbers, and printing."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy
import numpy.typing

from . import _tandem
from ._tandem import Tensor, dtype
from ._tandem import device as _device  # parameters hide the names of the types
from ._tandem import dtype as _dtype

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _member(owner: type, name: str) -> Callable[[_Function], _Function]:
    """Adds a function to a class of C++."""

    def add(function: _Function) -> _Function:
        function.__module__ = owner.__module__  # the type stubs list members of this module
        function.__name__ = name
        function.__qualname__ = f"{owner.__name__}.{name}"
        setattr(owner, name, function)
        return function

    return add


# ---- dtypes
@_member(dtype, "__repr__")
def _dtype_repr(self) -> str:
    return "tandem." + self.name


@_member(dtype, "__str__")
def _dtype_str(self) -> str:
    return "tandem." + self.name


def _itemsize(self) -> int:
    """The size of an element in bytes."""
    return _tandem._itemsize(self)


def _is_floating_point(self) -> bool:
    return _tandem._is_floating_point(self)


dtype.itemsize = property(_member(dtype, "itemsize")(_itemsize))
dtype.is_floating_point = property(_member(dtype, "is_floating_point")(_is_floating_point))


# ---- construction
def _check_range(array: numpy.typing.NDArray[Any], dtype: _dtype | None) -> None:
    """Refuses numbers that an integer dtype cannot hold. As in PyTorch, negative numbers wrap in uint8."""
    if dtype is None or dtype.is_floating_point or dtype is _dtype.bool or array.size == 0:
        return
    largest = numpy.iinfo(dtype.name).max
    if not (-largest - 1 <= array.min() and array.max() <= largest):
        raise _tandem.StateError(f"tensor: a number is outside the range of {dtype}; use a wider dtype")


def _has_f64(data: Any) -> builtins.bool:
    """Whether nested lists hold an array, tensor or number of NumPy in f64. Python's floats do not count."""
    if not isinstance(data, (list, tuple)):
        return str(getattr(data, "dtype", "")).endswith("float64")
    python = {builtins.float, builtins.int, builtins.bool}
    return not {*map(type, data)} <= python and any(map(_has_f64, data))


def tensor(
    data: Any, *, dtype: _dtype | None = None, device: _device | str | None = None, requires_grad: bool = False
) -> Tensor:
    """Returns a new tensor with a copy of `data`: a number, nested lists, a NumPy array or a tensor.

    Python's floats become the default dtype, ints int64; arrays keep their dtype.
    """
    if isinstance(data, Tensor):
        result = data.detach().clone()
    else:
        array = numpy.array(data)
        leaf = data
        while isinstance(leaf, (list, tuple)) and leaf:
            leaf = leaf[0]
        if not isinstance(leaf, (numpy.ndarray, Tensor)) and not isinstance(data, numpy.generic):
            _check_range(array, dtype)
            if isinstance(leaf, builtins.int) and array.dtype == numpy.uint64 and dtype is None:
                raise _tandem.StateError("tensor: an int is beyond int64; name a dtype: dtype=tandem.uint64")
        if array.dtype == numpy.float64 and not _has_f64(data):
            dtype = dtype or _tandem.get_default_dtype()
        result = _tandem.from_numpy(array)
    result = result.to(device, dtype)
    return result.requires_grad_() if requires_grad else result


def as_tensor(data: Any, *, dtype: _dtype | None = None, device: _device | str | None = None) -> Tensor:
    """Like tensor(), but shares the memory of tensors and arrays if nothing has to be converted."""
    if isinstance(data, numpy.ndarray):
        data = _tandem.from_numpy(data)
    if isinstance(data, Tensor):
        return data.to(device, dtype)
    return tensor(data, dtype=dtype, device=device)


# ---- conversion to Python and NumPy
@_member(Tensor, "__array__")
def _array(self, dtype: Any = None, copy: bool | None = None) -> numpy.typing.NDArray[Any]:
    """For numpy.asarray(). bf16 and float8 become float32, which NumPy has."""
    if self.dtype.is_floating_point and self.dtype.name.startswith(("bfloat", "float8")):
        if copy is False:
            raise ValueError(f"NumPy has no {self.dtype.name}: an array without a copy is impossible")
        array = self.float().numpy()
    else:
        array = self.numpy()
    if dtype is not None and array.dtype != dtype:
        return array.astype(dtype)
    return array.copy() if copy else array


Tensor.__array_priority__ = 1000  # array * tensor calls the tensor's operator


@_member(Tensor, "__array_wrap__")
def _wrap(self, array: Any, context: Any = None, return_scalar: builtins.bool = False) -> Any:
    """For functions of NumPy that are given a tensor, whose results become tensors."""
    return _tandem.from_numpy(numpy.ascontiguousarray(array)).reshape(*array.shape)


@_member(Tensor, "tolist")
def _tolist(self) -> Any:
    """Returns the values as nested lists, or as a number."""
    return _values(self).tolist()


@_member(Tensor, "__iter__")
def _iterate(self) -> Iterator[Tensor]:
    if self.ndim == 0:
        raise TypeError("iteration over a tensor without dimensions")
    return iter(self.unbind(0))


@_member(Tensor, "__reversed__")
def _reversed(self) -> Tensor:
    return self.flip(0) if self.ndim else self


@_member(Tensor, "__contains__")
def _contains(self, element: Any) -> builtins.bool:
    if not isinstance(element, (Tensor, builtins.int, builtins.float, numpy.generic)):
        raise TypeError(f"a tensor contains numbers and tensors; {type(element).__name__} is neither")
    return builtins.bool((self == element).any().item())


@_member(Tensor, "__bool__")
def _bool(self) -> bool:
    return builtins.bool(self.item())


@_member(Tensor, "__float__")
def _float(self) -> float:
    return builtins.float(self.item())


@_member(Tensor, "__complex__")
def _complex(self) -> complex:
    return complex(self.item())


@_member(Tensor, "__int__")
def _int(self) -> int:
    return builtins.int(self.item())


@_member(Tensor, "__index__")
def _index(self) -> int:
    if self.dtype.is_floating_point or self.numel() != 1:
        raise TypeError(f"an index is one integer, but this tensor has {self.numel()} elements of {self.dtype}")
    return builtins.int(self.item())


# ---- printing
def _values(x: Tensor) -> numpy.typing.NDArray[Any]:
    """A copy of the values as an array, whatever the dtype and device. Memory that is shared with NumPy would make
    autocast keep no casts of it."""
    return numpy.asarray(x.detach().cpu().clone())


@_member(Tensor, "__repr__")
def _repr(self) -> str:
    prefix = "tensor("
    text = numpy.array2string(_values(self), separator=", ", prefix=prefix, threshold=1000, precision=4)
    notes = []
    if self.dtype not in (dtype.float32, dtype.int64, dtype.bool):
        notes.append(f"dtype={self.dtype}")
    if self.is_cuda:
        notes.append(f"device='{self.device}'")
    if self.requires_grad:
        notes.append("requires_grad=True")
    return prefix + ", ".join([text, *notes]) + ")"


@_member(Tensor, "__format__")
def _format(self, spec: str) -> str:
    """A tensor without dimensions is formatted as its number, as `f"{loss:.3f}"`."""
    return format(self.item(), spec) if self.ndim == 0 else object.__format__(self, spec)


@_member(Tensor, "__copy__")
def _copy(self) -> Tensor:
    """Another tensor over the same memory, without history."""
    return self.detach().requires_grad_(self.requires_grad)


@_member(Tensor, "__deepcopy__")
def _deepcopy(self, memo: dict[int, Any]) -> Tensor:
    if id(self) not in memo:
        if not self.is_leaf:
            raise _tandem.AutogradError("deepcopy: the tensor is the result of an op; copy it with detach().clone()")
        memo[id(self)] = copy = self.detach().clone().requires_grad_(self.requires_grad)
        copy.grad = None if self.grad is None else self.grad.clone()
    return memo[id(self)]
