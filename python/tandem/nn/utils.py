"""Clipping of gradients."""

from .._tandem._nn.utils import *  # noqa: F401,F403
