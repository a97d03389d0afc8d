"""Memory shared with NumPy and DLPack: the same pointer, and memory that lives as long as either side."""

import array
import gc
import weakref

import numpy as np
import pytest

import tandem as tt

DTYPES = [
    (np.uint8, tt.uint8), (np.int8, tt.int8), (np.int16, tt.int16), (np.int32, tt.int32), (np.int64, tt.int64),
    (np.bool_, tt.bool), (np.float16, tt.float16), (np.float32, tt.float32), (np.float64, tt.float64),
]  # fmt: skip


class Tracked(np.ndarray):
    """An array that a weak reference can watch."""


def tracked(values):
    return np.array(values, dtype=np.float32).view(Tracked)


@pytest.mark.parametrize("numpy_dtype, dtype", DTYPES)
def test_from_numpy_shares_memory(numpy_dtype, dtype):
    a = np.arange(6).astype(numpy_dtype).reshape(2, 3)
    x = tt.from_numpy(a)
    assert (x.dtype, tuple(x.shape)) == (dtype, (2, 3))
    assert x.data_ptr() == a.ctypes.data
    a[1, 2] = 0
    assert x[1, 2].item() == 0


@pytest.mark.parametrize("numpy_dtype, dtype", DTYPES)
def test_numpy_shares_memory(numpy_dtype, dtype):
    x = tt.ones(2, 3, dtype=dtype)
    a = x.numpy()
    assert a.dtype == numpy_dtype and a.flags.writeable
    assert a.ctypes.data == x.data_ptr()
    a[0, 1] = 0
    assert x[0, 1].item() == 0


def test_strides_are_kept():
    a = np.arange(24, dtype=np.float32).reshape(4, 6)
    x = tt.from_numpy(a[::2, 1::3].T)
    assert x.stride() == (3, 12) and x.tolist() == a[::2, 1::3].T.tolist()
    y = tt.arange(6.0).view(2, 3).t()
    assert y.numpy().strides == (4, 12) and y.numpy().tolist() == y.tolist()


def test_tensor_keeps_array_alive():
    a = tracked([1, 2, 3])
    alive = weakref.ref(a)
    x = tt.from_numpy(a)[1:]
    del a
    gc.collect()
    assert alive() is not None and x.tolist() == [2, 3]
    del x
    gc.collect()
    assert alive() is None


def test_tensor_in_a_graph_keeps_array_alive():
    a = tracked([1, 2, 3])
    alive = weakref.ref(a)
    x = tt.from_numpy(a)
    w = tt.ones(3, requires_grad=True)
    loss = (w * x).sum()
    del a, x
    gc.collect()
    assert alive() is not None
    loss.backward()  # frees the graph without the GIL
    assert w.grad.tolist() == [1, 2, 3]
    del loss
    gc.collect()
    assert alive() is None


def test_array_keeps_memory_alive():
    x = tt.arange(1000.0)
    a = x.numpy()
    del x
    gc.collect()
    tt.zeros(1000)  # would reuse freed memory
    assert a.sum() == 499500


def test_array_keeps_memory_of_replaced_data():
    x = tt.arange(1000.0)
    a, b = x.numpy(), np.from_dlpack(x)
    x.set_data(tt.zeros(1000))
    gc.collect()
    tt.zeros(1000)
    assert a.sum() == 499500 and b.sum() == 499500


def test_shared_array_cannot_be_resized():
    a = np.zeros(3, dtype=np.float32)
    x = tt.from_numpy(a)
    with pytest.raises(ValueError):
        a.resize(1000)
    assert x.tolist() == [0, 0, 0]


def test_from_other_buffers():
    data = array.array("f", [1, 2, 3])
    assert tt.from_numpy(data).tolist() == [1, 2, 3]
    assert tt.from_numpy(memoryview(bytearray(b"ab"))).tolist() == [97, 98]


def test_numbers_and_empty_arrays():
    assert tt.from_numpy(np.array(2.5)).item() == 2.5
    x = tt.from_numpy(np.zeros((0, 3), np.float32))
    assert tuple(x.shape) == (0, 3) and x.numpy().shape == (0, 3)
    assert tt.tensor(2.5).numpy().shape == ()


def test_refused_arrays():
    a = np.arange(4, dtype=np.float32)
    with pytest.raises(ValueError, match="negative"):
        tt.from_numpy(a[::-1])
    a.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        tt.from_numpy(a)
    with pytest.raises(TypeError, match="no dtype"):
        tt.from_numpy(np.zeros(2, np.complex64))
    with pytest.raises(TypeError, match="no dtype"):
        tt.from_numpy(np.zeros(2, ">f4"))
    with pytest.raises(TypeError):
        tt.from_numpy(3)
    with pytest.raises(ValueError, match="multiple"):
        tt.from_numpy(np.zeros(2, np.dtype([("a", np.float32), ("b", np.int8)]))["a"])


def test_refused_tensors():
    with pytest.raises(TypeError, match="float"):
        tt.ones(2, dtype=tt.bfloat16).numpy()
    with pytest.raises(ValueError, match="detach"):
        tt.ones(2, requires_grad=True).numpy()
    assert tt.ones(2, requires_grad=True).numpy(force=True).tolist() == [1, 1]
    with pytest.raises(BufferError, match="detach"):
        np.from_dlpack(tt.ones(2, requires_grad=True))


def test_asarray():
    assert np.asarray(tt.arange(3)).tolist() == [0, 1, 2]
    assert np.asarray(tt.ones(2, dtype=tt.bfloat16)).dtype == np.float32


def test_values_can_be_read_before_backward():
    """Backward checks that the tensors it needs were not changed. To look at them is no change."""
    x = tt.tensor([-1.0, 2.0], requires_grad=True)
    y = x.relu()
    assert y.detach().numpy().tolist() == [0, 2] and np.from_dlpack(y.detach()).tolist() == [0, 2]
    assert y.tolist() == [0, 2] and "2." in repr(y) and y.data_ptr()
    y.sum().backward()
    assert x.grad.tolist() == [0, 1]
    y = x.relu()
    y.detach().add_(1)
    with pytest.raises(tt.AutogradError, match="in place"):
        y.sum().backward()


# ---- DLPack


def test_dlpack_to_numpy_and_back():
    x = tt.arange(6.0).view(2, 3).t()
    a = np.from_dlpack(x)
    assert a.ctypes.data == x.data_ptr() and a.strides == (4, 12) and a.flags.writeable
    y = tt.from_dlpack(a)
    assert y.data_ptr() == x.data_ptr() and y.stride() == (1, 3)
    del x, a
    gc.collect()
    assert y.tolist() == [[0, 3], [1, 4], [2, 5]]


def test_dlpack_keeps_memory_alive():
    a = tracked([1, 2, 3])
    alive = weakref.ref(a)
    x = tt.from_dlpack(a)
    del a
    gc.collect()
    assert alive() is not None and x.tolist() == [1, 2, 3]
    del x
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_capsules(version):
    x = tt.arange(3.0)
    capsule = x.__dlpack__(max_version=version)
    y = tt.from_dlpack(capsule)
    assert y.data_ptr() == x.data_ptr()
    with pytest.raises(ValueError, match="consumed"):
        tt.from_dlpack(capsule)
    x.__dlpack__(max_version=version)  # never consumed: the capsule frees its memory
    assert x.__dlpack_device__() == (1, 0)
    assert tt.from_dlpack(x.__dlpack__(copy=True)).data_ptr() != x.data_ptr()
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(2, 0))


def test_dlpack_of_bfloat16():
    x = tt.ones(3, dtype=tt.bfloat16)
    y = tt.from_dlpack(x)
    assert y.dtype == tt.bfloat16 and y.data_ptr() == x.data_ptr()


def test_read_only_arrays_are_copied():
    a = np.arange(3, dtype=np.float32)
    a.flags.writeable = False
    assert tt.from_dlpack(a).data_ptr() != a.ctypes.data
