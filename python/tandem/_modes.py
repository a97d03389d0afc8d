"""The scopes that switch the recording of gradients, for `with` and as decorators."""

import functools

from . import _tandem


class _Mode:
    """A scope around a C++ guard, which is made at entry. One object can be entered several times."""

    def __init__(self):
        self._scopes = []

    def _new_scope(self):
        raise NotImplementedError

    def __enter__(self):
        self._scopes.append(self._new_scope())
        return self

    def __exit__(self, *exception):
        self._scopes.pop().exit()
        return False

    def __call__(self, function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            with self:
                return function(*args, **kwargs)

        return wrapper


class set_grad_enabled(_Mode):
    """Sets, within the scope, whether ops are recorded for backward."""

    def __init__(self, mode):
        super().__init__()
        self._mode = bool(mode)

    def _new_scope(self):
        return _tandem._AutoGradMode(self._mode)


class no_grad(set_grad_enabled):
    """Within the scope, no op is recorded for backward."""

    def __init__(self):
        super().__init__(False)


class enable_grad(set_grad_enabled):
    """Within the scope, ops are recorded for backward."""

    def __init__(self):
        super().__init__(True)


class inference_mode(_Mode):
    """Like no_grad, and the tensors made in the scope can never be used for gradients."""

    def __init__(self, mode=True):
        super().__init__()
        self._mode = bool(mode)

    def _new_scope(self):
        return _tandem._InferenceMode(self._mode)
