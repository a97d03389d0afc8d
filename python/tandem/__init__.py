"""Mixed-precision training: the C++ library tandem, under PyTorch's names."""

from . import _tandem
from ._tandem import *  # noqa: F401,F403
from ._tandem import __version__, _AutoGradMode, _einsum, _InferenceMode
from ._modes import enable_grad, inference_mode, no_grad, set_grad_enabled
from . import _tensor
from ._tensor import as_tensor, tensor
from . import amp, autograd, nn, optim
from .amp import autocast

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
bool = dtype.bool
float8_e4m3fn = dtype.float8_e4m3fn
float8_e5m2 = dtype.float8_e5m2
float8_e8m0fnu = dtype.float8_e8m0fnu


def einsum(equation, *operands):
    """Multiplies the operands and sums over the letters that the result lacks."""
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = operands[0]
    return _einsum(equation, list(operands))
