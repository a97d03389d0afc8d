"""Autocast and GradScaler."""

from .. import _tandem
from .._modes import _Mode
from .._tandem._amp import (
    GradScaler,
    StepResult,
    clear_autocast_cache,
    get_autocast_dtype,
    is_autocast_available,
    is_autocast_enabled,
    set_autocast_dtype,
)

__all__ = [
    "GradScaler",
    "StepResult",
    "autocast",
    "clear_autocast_cache",
    "get_autocast_dtype",
    "is_autocast_available",
    "is_autocast_enabled",
    "set_autocast_dtype",
]


class autocast(_Mode):
    """Within the scope, ops on this thread choose their precision: `with autocast("cpu", tandem.bfloat16):`.

    Also a decorator. The default dtype is that of the device type: bfloat16 on the CPU, float16 on CUDA.
    """

    def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        super().__init__()
        self._arguments = (device_type, dtype, enabled, cache_enabled)

    def _new_scope(self):
        return _tandem._amp._AutocastScope(*self._arguments)
