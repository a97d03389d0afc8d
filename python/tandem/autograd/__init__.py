"""Gradients without backward()."""

from .._tandem import _grad


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, *, allow_unused=False):
    """Returns the gradients of the outputs' sum with respect to the inputs, as a tuple."""
    return _grad(outputs, inputs, grad_outputs, retain_graph, create_graph, allow_unused)


__all__ = ["grad"]
