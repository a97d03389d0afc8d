"""Autocast and GradScaler."""

from typing import Any

from .. import _tandem
from .._modes import _Mode
from .._tandem import dtype as _dtype
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

    def __init__(
        self, device_type: str, dtype: _dtype | None = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        super().__init__()
        self._arguments = (device_type, dtype, enabled, cache_enabled)

    def _new_scope(self) -> Any:
        return _tandem._amp._AutocastScope(*self._arguments)
