"""Schedules of the learning rate."""

from .._tandem._optim import CosineAnnealingLR, ExponentialLR, LinearLR, LRScheduler, MultiStepLR, StepLR

__all__ = ["CosineAnnealingLR", "ExponentialLR", "LRScheduler", "LinearLR", "MultiStepLR", "StepLR"]
