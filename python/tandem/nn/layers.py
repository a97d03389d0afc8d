"""Layers. Their initial values are drawn as in C++: the same seed gives the same weights in both languages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import _tandem
from .._modes import no_grad
from .._tandem import Tensor
from .._tandem import device as _device
from .._tandem import dtype as _dtype
from . import functional as F
from . import init
from .module import Module, Parameter

_Sizes = int | Sequence[int]


def _pair(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value, value)


def _init_weight_and_bias(layer: Module) -> None:
    """Kaiming's uniform distribution for weights, 1 / sqrt(fan_in) as the bound of biases."""
    with no_grad():
        init.kaiming_uniform_(layer.weight, math.sqrt(5))
        if layer.bias is not None:
            fan_in = layer.weight.numel() // max(layer.weight.shape[0], 1)
            bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
            init.uniform_(layer.bias, -bound, bound)


class Linear(Module):
    """y = x weight^T + bias; weight is [out_features, in_features]."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: _device | str | None = None,
        dtype: _dtype | None = None,
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(_tandem.empty(out_features, in_features, device=device, dtype=dtype))
        self.register_parameter(
            "bias", Parameter(_tandem.empty(out_features, device=device, dtype=dtype)) if bias else None
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        _init_weight_and_bias(self)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Conv2d(Module):
    """2-dimensional convolution; weight is [out_channels, in_channels / groups, kernel height, kernel width]."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: _Sizes,
        stride: _Sizes = 1,
        padding: _Sizes = 0,
        dilation: _Sizes = 1,
        groups: int = 1,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if in_channels % groups or out_channels % groups:
            raise _tandem.StateError(
                f"Conv2d: groups = {groups} must divide in_channels = {in_channels} and out_channels = {out_channels}"
            )
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride = _pair(kernel_size), _pair(stride)
        self.padding, self.dilation = _pair(padding), _pair(dilation)
        self.weight = Parameter(_tandem.empty(out_channels, in_channels // groups, *self.kernel_size))
        self.register_parameter("bias", Parameter(_tandem.empty(out_channels)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        _init_weight_and_bias(self)

    def forward(self, input: Tensor) -> Tensor:
        return F.conv2d(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)

    def extra_repr(self) -> str:
        return f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"


class _BatchNorm(Module):
    """Normalises each channel by the statistics of the batch, in evaluation by the running ones."""

    ranks: tuple[int, ...] = ()

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.register_parameter("weight", Parameter(_tandem.ones(num_features)) if affine else None)
        self.register_parameter("bias", Parameter(_tandem.zeros(num_features)) if affine else None)
        self.register_buffer("running_mean", _tandem.zeros(num_features) if track_running_stats else None)
        self.register_buffer("running_var", _tandem.ones(num_features) if track_running_stats else None)
        counter = _tandem.full((), 0, dtype=_tandem.dtype.int64) if track_running_stats else None
        self.register_buffer("num_batches_tracked", counter)

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim not in self.ranks:
            raise _tandem.ShapeError(f"{type(self).__name__}: the input has {input.ndim} dimensions, not {self.ranks}")
        momentum = 0.0 if self.momentum is None else self.momentum
        if self.training and self.num_batches_tracked is not None:
            with no_grad():
                self.num_batches_tracked.add_(1)
            if self.momentum is None:
                momentum = 1 / self.num_batches_tracked.item()
        training = self.training or self.running_mean is None
        return F.batch_norm(
            input, self.running_mean, self.running_var, self.weight, self.bias, training, momentum, self.eps
        )

    def extra_repr(self) -> str:
        return f"{self.num_features}, eps={self.eps}, momentum={self.momentum}"


class BatchNorm1d(_BatchNorm):
    __doc__ = _BatchNorm.__doc__
    ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    __doc__ = _BatchNorm.__doc__
    ranks = (4,)


class LayerNorm(Module):
    """Normalises over the last dimensions, which have the sizes `normalized_shape`."""

    def __init__(
        self, normalized_shape: _Sizes, eps: float = 1e-5, elementwise_affine: bool = True, bias: bool = True
    ) -> None:
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps = eps
        shape = self.normalized_shape
        self.register_parameter("weight", Parameter(_tandem.ones(shape)) if elementwise_affine else None)
        self.register_parameter("bias", Parameter(_tandem.zeros(shape)) if elementwise_affine and bias else None)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}"


class Embedding(Module):
    """Rows of a table by index; weight is [num_embeddings, embedding_dim]."""

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None) -> None:
        super().__init__()
        self.padding_idx = padding_idx
        self.weight = Parameter(_tandem.empty(num_embeddings, embedding_dim))
        with no_grad():
            init.normal_(self.weight)
            if padding_idx is not None:
                self.weight[padding_idx].zero_()

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(input, self.weight, self.padding_idx)

    def extra_repr(self) -> str:
        return f"{self.weight.shape[0]}, {self.weight.shape[1]}"


class Dropout(Module):
    """In training, sets each element to 0 with probability p and divides the others by 1 - p."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training)

    def extra_repr(self) -> str:
        return f"p={self.p}"


class MaxPool2d(Module):
    """The maximum of each window."""

    def __init__(
        self,
        kernel_size: _Sizes,
        stride: _Sizes | None = None,
        padding: _Sizes = 0,
        dilation: _Sizes = 1,
        *,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.arguments = (kernel_size, stride, padding, dilation, ceil_mode)

    def forward(self, input: Tensor) -> Tensor:
        return F.max_pool2d(input, *self.arguments)

    def extra_repr(self) -> str:
        return "kernel_size={}, stride={}, padding={}".format(*self.arguments[:3])


class AvgPool2d(Module):
    """The mean of each window."""

    def __init__(self, kernel_size: _Sizes, stride: _Sizes | None = None, padding: _Sizes = 0) -> None:
        super().__init__()
        self.arguments = (kernel_size, stride, padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool2d(input, *self.arguments)


class AdaptiveAvgPool2d(Module):
    """Means of windows that are chosen so that the output has `output_size`."""

    def __init__(self, output_size: _Sizes) -> None:
        super().__init__()
        self.output_size = _pair(output_size)

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(input, self.output_size)


class Flatten(Module):
    """Makes one dimension of several."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)


class Identity(Module):
    """Returns its input."""

    def forward(self, input: Tensor) -> Tensor:
        return input


class ReLU(Module):
    """max(x, 0)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input)


class GELU(Module):
    """x times the normal distribution function of x, or its approximation 'tanh'."""

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, self.approximate)


class SiLU(Module):
    """x sigmoid(x)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input)


class Sigmoid(Module):
    """1 / (1 + e^-x)."""

    def forward(self, input: Tensor) -> Tensor:
        return F.sigmoid(input)


class Tanh(Module):
    """The hyperbolic tangent."""

    def forward(self, input: Tensor) -> Tensor:
        return F.tanh(input)


class CrossEntropyLoss(Module):
    """Softmax and negative log likelihood, of class indices or class probabilities."""

    def __init__(
        self,
        weight: Tensor | None = None,
        *,
        ignore_index: int = -100,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__()
        self.register_buffer("weight", weight)
        self.arguments: dict[str, Any] = dict(ignore_index=ignore_index, reduction=reduction, label_smoothing=label_smoothing)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(input, target, self.weight, **self.arguments)


class MSELoss(Module):
    """The mean, or sum, of the squared differences."""

    def __init__(self, *, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = reduction

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, reduction=self.reduction)
