"""Gradients without backward(), and ops with a derivative written in Python."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .._tandem import Tensor, _apply_function, _grad

__all__ = ["Function", "FunctionContext", "grad"]


def grad(
    outputs: Tensor | Iterable[Tensor],
    inputs: Tensor | Iterable[Tensor],
    grad_outputs: Tensor | Iterable[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    *,
    allow_unused: bool = False,
) -> tuple[Any, ...]:
    """Returns the gradients of the outputs' sum with respect to the inputs, as a tuple."""
    return _grad(outputs, inputs, grad_outputs, retain_graph, create_graph, allow_unused)


class FunctionContext:
    """Data that forward keeps for backward. Attributes may have any type, but an output that is stored as an attribute
    is never freed: pass it to save_for_backward()."""

    def __init__(self) -> None:
        self._saved: tuple[Any, ...] = ()
        self._dirty: tuple[Tensor, ...] = ()

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

        def __setattr__(self, name: str, value: Any) -> None: ...

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        self._saved = tensors

    def mark_dirty(self, *tensors: Tensor) -> None:
        """In forward: declares that these inputs were changed in place. Each must also be returned."""
        self._dirty = tensors

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """In backward: the tensors of save_for_backward()."""
        return self._saved


class Function:
    """An op with its derivative:

        class Exp(Function):
            @staticmethod
            def forward(ctx, x):
                y = x.exp()
                ctx.save_for_backward(y)
                return y

            @staticmethod
            def backward(ctx, grad):
                return grad * ctx.saved_tensors[0]

        y = Exp.apply(x)

    backward returns one gradient per argument of forward, None for arguments without one.
    """

    @staticmethod
    def forward(ctx: FunctionContext, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("a Function defines forward()")

    @staticmethod
    def backward(ctx: FunctionContext, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("a Function defines backward()")

    @classmethod
    def apply(cls, *args: Any) -> Any:
        return _apply_function(cls, FunctionContext(), args)
