"""Modules and layers. Function forms are in `functional`, initial values in `init`."""

from . import functional, init, utils
from .layers import (
    GELU,
    AdaptiveAvgPool2d,
    AvgPool2d,
    BatchNorm1d,
    BatchNorm2d,
    Conv2d,
    CrossEntropyLoss,
    Dropout,
    Embedding,
    Flatten,
    Identity,
    LayerNorm,
    Linear,
    MaxPool2d,
    MSELoss,
    ReLU,
    Sigmoid,
    SiLU,
    Tanh,
)
from .module import Module, ModuleList, Parameter, Sequential

__all__ = [
    "GELU", "AdaptiveAvgPool2d", "AvgPool2d", "BatchNorm1d", "BatchNorm2d", "Conv2d", "CrossEntropyLoss", "Dropout",
    "Embedding", "Flatten", "Identity", "LayerNorm", "Linear", "MSELoss", "MaxPool2d", "Module", "ModuleList",
    "Parameter", "ReLU", "Sequential", "SiLU", "Sigmoid", "Tanh", "functional", "init", "utils",
]  # fmt: skip
