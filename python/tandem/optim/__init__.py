"""Optimizers, and schedules of the learning rate in `lr_scheduler`."""

from .._tandem._optim import SGD, Adagrad, Adam, AdamW, Optimizer, ParamGroup, RMSprop
from . import lr_scheduler

__all__ = ["SGD", "Adagrad", "Adam", "AdamW", "Optimizer", "ParamGroup", "RMSprop", "lr_scheduler"]
