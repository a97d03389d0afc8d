"""The scopes that switch the recording of gradients, for `with` and as decorators."""

import functools
from collections.abc import Callable
from typing import Any, Literal, TypeVar, cast

from . import _tandem

_Function = TypeVar("_Function", bound=Callable[..., Any])
_AnyMode = TypeVar("_AnyMode", bound="_Mode")


class _Mode:
    """A scope around a C++ guard, which is made at entry. One object can be entered several times."""

    def __init__(self) -> None:
        self._scopes: list[Any] = []

    def _new_scope(self) -> Any:
        raise NotImplementedError

    def __enter__(self: _AnyMode) -> _AnyMode:
        self._scopes.append(self._new_scope())
        return self

    def __exit__(self, *exception: object) -> Literal[False]:
        self._scopes.pop().exit()
        return False

    def __call__(self, function: _Function) -> _Function:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return cast(_Function, wrapper)


class _GradMode(_Mode):
    def __init__(self, mode: bool) -> None:
        super().__init__()
        self._mode = bool(mode)

    def _new_scope(self) -> Any:
        return _tandem._AutoGradMode(self._mode)


class set_grad_enabled(_GradMode):
    """Sets whether ops are recorded for backward: as a statement until the next call, else within the scope."""

    def __init__(self, mode: bool) -> None:
        super().__init__(mode)
        self._previous: bool | None = _tandem.is_grad_enabled()
        _tandem._set_grad_enabled(self._mode)

    def _undo(self) -> None:
        """It was no statement: the mode is that of the scope."""
        if self._previous is not None:
            _tandem._set_grad_enabled(self._previous)
        self._previous = None

    def __enter__(self: _AnyMode) -> _AnyMode:
        self._undo()
        return super().__enter__()

    def __call__(self, function: _Function) -> _Function:
        self._undo()
        return super().__call__(function)


class no_grad(_GradMode):
    """Within the scope, no op is recorded for backward."""

    def __init__(self) -> None:
        super().__init__(False)


class enable_grad(_GradMode):
    """Within the scope, ops are recorded for backward."""

    def __init__(self) -> None:
        super().__init__(True)


class inference_mode(_Mode):
    """Like no_grad, and the tensors made in the scope can never be used for gradients."""

    def __init__(self, mode: bool = True) -> None:
        super().__init__()
        self._mode = bool(mode)

    def _new_scope(self) -> Any:
        return _tandem._InferenceMode(self._mode)
