"""The scopes that switch the recording of gradients, for `with` and as decorators."""

import functools
import inspect
from collections.abc import Callable, Generator
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

        @functools.wraps(function)
        def generator(*args: Any, **kwargs: Any) -> Any:
            return self._steps(function(*args, **kwargs))

        return cast(_Function, generator if inspect.isgeneratorfunction(function) else wrapper)

    def _steps(self, inner: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        """Runs each step of a generator within the scope, and its consumer outside of it."""
        resume: Callable[[Any], Any] = inner.send
        value: Any = None
        while True:
            try:
                with self:
                    result = resume(value)
            except StopIteration as end:
                return end.value
            try:
                resume, value = inner.send, (yield result)
            except GeneratorExit:
                with self:
                    inner.close()
                raise
            except BaseException as error:
                resume, value = inner.throw, error


class _BareMode(_Mode):
    """A scope that is also a decorator without parentheses: `@no_grad`."""

    def __new__(cls, *arguments: Any, **keywords: Any) -> Any:
        return cls()(arguments[0]) if arguments and callable(arguments[0]) else super().__new__(cls)


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


class no_grad(_BareMode, _GradMode):
    """Within the scope, no op is recorded for backward."""

    def __init__(self, function: Any = None) -> None:
        super().__init__(False)


class enable_grad(_BareMode, _GradMode):
    """Within the scope, ops are recorded for backward."""

    def __init__(self, function: Any = None) -> None:
        super().__init__(True)


class inference_mode(_BareMode):
    """Like no_grad, and the tensors made in the scope can never be used for gradients."""

    def __init__(self, mode: bool | Callable[..., Any] = True) -> None:
        super().__init__()
        self._mode = bool(mode)

    def _new_scope(self) -> Any:
        return _tandem._InferenceMode(self._mode)
