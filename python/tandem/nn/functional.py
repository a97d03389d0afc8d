"""Layers, activations and losses as functions."""

from .._tandem._nn.functional import *  # noqa: F401,F403
