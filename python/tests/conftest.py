import gc

import pytest

import tandem as tt


@pytest.fixture(autouse=True)
def seed():
    tt.manual_seed(0)
    yield
    gc.collect()
