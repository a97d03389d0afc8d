"""What Tensor and dtype need of Python: construction from data, conversion to numbers, and printing."""

import builtins

import numpy

from . import _tandem
from ._tandem import Tensor, dtype


# ---- dtypes
dtype.__repr__ = dtype.__str__ = lambda self: "tandem." + self.name
dtype.itemsize = property(_tandem._itemsize)
dtype.is_floating_point = property(_tandem._is_floating_point)


# ---- construction
def tensor(data, *, dtype=None, device=None, requires_grad=False):
    """Returns a new tensor with a copy of `data`: a number, nested lists, a NumPy array or a tensor.

    Python's floats become the default dtype, ints int64; arrays keep their dtype.
    """
    if isinstance(data, Tensor):
        result = data.detach().clone()
    else:
        array = numpy.array(data)
        if not isinstance(data, (numpy.ndarray, numpy.generic)) and array.dtype == numpy.float64:
            dtype = dtype or _tandem.get_default_dtype()
        result = _tandem.from_numpy(array)
    result = result.to(device, dtype)
    return result.requires_grad_() if requires_grad else result


def as_tensor(data, *, dtype=None, device=None):
    """Like tensor(), but shares the memory of tensors and arrays if nothing has to be converted."""
    if isinstance(data, numpy.ndarray):
        data = _tandem.from_numpy(data)
    if isinstance(data, Tensor):
        return data.to(device, dtype)
    return tensor(data, dtype=dtype, device=device)


# ---- conversion to Python and NumPy
def _array(self, dtype=None, copy=None):
    """For numpy.asarray(). bf16 and float8 become float32, which NumPy has."""
    if self.dtype.is_floating_point and self.dtype.name.startswith(("bfloat", "float8")):
        if copy is False:
            raise ValueError(f"NumPy has no {self.dtype.name}: an array without a copy is impossible")
        array = self.detach().float().numpy()
    else:
        array = self.numpy()
    if dtype is not None and array.dtype != dtype:
        return array.astype(dtype)
    return array.copy() if copy else array


def _tolist(self):
    """Returns the values as nested lists, or as a number."""
    return _values(self).tolist()


def _iterate(self):
    if self.ndim == 0:
        raise TypeError("iteration over a tensor without dimensions")
    return iter(self.unbind(0))


Tensor.__array__ = _array
Tensor.__array_priority__ = 1000  # array * tensor calls the tensor's operator
Tensor.tolist = _tolist
Tensor.__iter__ = _iterate
Tensor.__bool__ = lambda self: builtins.bool(self.item())
Tensor.__float__ = lambda self: builtins.float(self.item())
Tensor.__int__ = lambda self: builtins.int(self.item())


def _index(self):
    value = self.item()
    if isinstance(value, builtins.float):
        raise TypeError(f"a tensor of {self.dtype} is no index; use one of an integer dtype")
    return builtins.int(value)


Tensor.__index__ = _index


# ---- printing
def _values(x):
    """A copy of the values as an array, whatever the dtype and device. Memory that is shared with NumPy would make
    autocast keep no casts of it."""
    return numpy.asarray(x.detach().cpu().clone())


def _repr(self):
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


Tensor.__repr__ = _repr
Tensor.__deepcopy__ = lambda self, memo: memo.setdefault(id(self), self.detach().clone().requires_grad_(self.requires_grad))
