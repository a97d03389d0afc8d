"""Mixed-precision training: the C++ library tandem, under PyTorch's names."""

from collections.abc import Sequence

from . import _tandem
from ._tandem import *  # noqa: F401,F403
from ._tandem import Tensor, _einsum, dtype
from ._tandem import __version__ as __version__
from . import _tensor

# `as` tells type checkers that a name belongs to this module.
from ._modes import enable_grad as enable_grad
from ._modes import inference_mode as inference_mode
from ._modes import no_grad as no_grad
from ._modes import set_grad_enabled as set_grad_enabled
from ._tensor import as_tensor as as_tensor
from ._tensor import tensor as tensor
from . import amp as amp
from . import autograd as autograd
from . import nn as nn
from . import optim as optim
from .amp import autocast as autocast

# The names of dtypes, among them some that hide built-ins inside this module only.
float32 = float = dtype.float32
float64 = double = dtype.float64
float16 = half = dtype.float16
bfloat16 = dtype.bfloat16
uint8 = dtype.uint8
int8 = dtype.int8
int16 = short = dtype.int16
int32 = int = dtype.int32
int64 = long = dtype.int64
uint16 = dtype.uint16
uint32 = dtype.uint32
uint64 = dtype.uint64
bool = dtype.bool
float8_e4m3fn = dtype.float8_e4m3fn
float8_e5m2 = dtype.float8_e5m2
float8_e8m0fnu = dtype.float8_e8m0fnu


def einsum(equation: str, *operands: Tensor | Sequence[Tensor]) -> Tensor:
    """Multiplies the operands and sums over the letters that the result lacks."""
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        return _einsum(equation, list(operands[0]))
    return _einsum(equation, list(operands))
