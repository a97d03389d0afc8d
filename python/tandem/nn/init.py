"""Initial values, written in place."""

from .._tandem._nn.init import *  # noqa: F401,F403
