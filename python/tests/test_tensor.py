"""Tensor: operators, indexing, methods, errors and printing."""

import copy
import operator

import numpy as np
import pytest

import tandem as tt


def test_dtypes():
    assert tt.tensor([1.0, 2.0]).dtype is tt.float32
    assert tt.tensor([1, 2]).dtype is tt.int64
    assert tt.tensor([True]).dtype is tt.bool
    assert tt.tensor(np.zeros(2)).dtype is tt.float64
    assert tt.tensor([1, 2], dtype=tt.bfloat16).dtype is tt.bfloat16
    assert (tt.bfloat16.itemsize, tt.bfloat16.is_floating_point, tt.int32.is_floating_point) == (2, True, False)
    assert repr(tt.bfloat16) == "tandem.bfloat16"
    x = tt.ones(2)
    assert [y.dtype for y in (x.half(), x.bfloat16(), x.double(), x.long(), x.bool())] == [
        tt.float16, tt.bfloat16, tt.float64, tt.int64, tt.bool,
    ]  # fmt: skip
    assert x.to(tt.float64).dtype is tt.float64 and x.to("cpu", tt.float16).dtype is tt.float16
    assert x.to(dtype=tt.int32).dtype is tt.int32 and x.to(tt.zeros(1, dtype=tt.int8)).dtype is tt.int8


def test_operators_match_numpy():
    a = np.array([[1.0, -2.0], [3.0, 4.0]], np.float32)
    b = np.array([[2.0, 5.0], [-1.0, 3.0]], np.float32)
    x, y = tt.from_numpy(a), tt.from_numpy(b)
    for result, expected in [
        (x + y, a + b), (x - y, a - b), (x * y, a * b), (x / y, a / b), (x @ y, a @ b), (x // y, a // b), (x % y, a % b),
        (x + 1, a + 1), (2 - x, 2 - a), (3 * x, 3 * a), (1 / x, 1 / a), (x**2, a**2), (2**x, 2**a), (-x, -a),
        (abs(x), abs(a)), (x > y, a > b), (x <= 3, a <= 3), (x == y, a == b), (x != 1, a != 1), (2 > x, 2 > a),
        ((x > 0) & (y > 0), (a > 0) & (b > 0)), (~(x > 0), ~(a > 0)), (x + np.float32(1), a + 1), (x * np.int64(2), a * 2),
    ]:  # fmt: skip
        np.testing.assert_allclose(result.numpy(), expected, rtol=1e-6)


def test_in_place_operators_keep_the_object():
    x = tt.ones(2)
    y = x
    y += 1
    y *= tt.tensor([1.0, 2.0])
    assert y is x and x.tolist() == [2, 4]
    assert x.add_(1).mul_(2) is x and x.zero_().tolist() == [0, 0]


@pytest.mark.parametrize("name", "add sub mul truediv floordiv mod pow and or xor lshift rshift".split())
@pytest.mark.parametrize("number", [True, False])
def test_in_place_operators_change_the_tensor(name, number):
    """Python rebinds the name without a word if a type has no in-place operator."""
    other = 2 if number else tt.tensor([2, 2])
    kind = "float32" if name == "truediv" else "int64"
    x = tt.tensor(np.array([5, 7], kind))
    expected = getattr(operator, {"and": "and_", "or": "or_"}.get(name, name))(x, other).tolist()
    result = getattr(operator, "i" + name)(x, other)
    assert result is x and x.tolist() == expected
    with pytest.raises(TypeError):
        getattr(operator, "i" + name)(x, np.ones(2))


def test_unsupported_operands():
    with pytest.raises(TypeError):
        tt.ones(2) + "a"
    assert (tt.ones(2) == None) is False  # noqa: E711
    with pytest.raises(TypeError):
        np.ones(2) * tt.ones(2)


def test_indexing_matches_numpy():
    a = np.arange(24).reshape(2, 3, 4)
    x = tt.from_numpy(a)
    for index in [
        0, -1, (1, 2), slice(None), slice(0, 2), (0, slice(1, None)), (..., 1), (slice(None), None, 1),
        (slice(None), slice(None), slice(0, 4, 2)), [1, 0], (0, [0, 2]), np.array([1]), a > 5, np.int64(1),
    ]:  # fmt: skip
        np.testing.assert_array_equal(x[index].numpy(), a[index])
    np.testing.assert_array_equal(x[tt.tensor([1, 0])].numpy(), a[[1, 0]])
    np.testing.assert_array_equal(x[x > 5].numpy(), a[a > 5])
    for empty in [[], (slice(None), []), [[]], ([], [])]:
        assert x[empty].shape == a[np.array(empty, int) if isinstance(empty, list) else empty].shape, empty


def test_assignment_to_an_index():
    x = tt.zeros(2, 3)
    x[0] = 1
    x[1, 1:] = tt.tensor([2.0, 3.0])
    x[x == 0] = -1.0
    assert x.tolist() == [[1, 1, 1], [-1, 2, 3]]
    x[0, 0] += 4
    assert x[0, 0].item() == 5


def test_iteration_and_numbers():
    x = tt.tensor([[1, 2], [3, 4]])
    assert len(x) == 2 and [row.tolist() for row in x] == [[1, 2], [3, 4]]
    assert int(x[0, 0]) == 1 and float(x[1, 1]) == 4.0 and bool(x[0, 0] == 1) and [5, 6, 7][x[0, 1]] == 7
    with pytest.raises(ValueError):
        bool(x)
    with pytest.raises(TypeError):
        len(tt.tensor(1))
    with pytest.raises(TypeError):
        iter(tt.tensor(1))


def test_methods_and_functions():
    x = tt.arange(6.0).view(2, 3)
    assert x.sum().item() == 15 and x.sum(0).tolist() == [3, 5, 7] and x.sum((0, 1)).item() == 15
    assert x.mean(1, keepdim=True).tolist() == [[1], [4]] and x.argmax(1).tolist() == [2, 2]
    values, indices = x.max(1)
    assert values.tolist() == [2, 5] and indices.tolist() == [2, 2] and x.max().item() == 5
    assert x.reshape(-1).shape == (6,) and x.view((3, 2)).shape == (3, 2) and x.t().shape == (3, 2)
    assert x.transpose(0, 1).permute(1, 0).shape == (2, 3) and x[None].squeeze(0).unsqueeze(-1).shape == (2, 3, 1)
    assert tt.cat([x, x], dim=1).shape == (2, 6) and tt.stack([x, x]).shape == (2, 2, 3)
    assert tt.allclose(x.softmax(1).sum(1), tt.ones(2)) and tt.equal(tt.exp(x), x.exp())
    assert tt.where(x > 2, x, 0.0).sum().item() == 12 and x.clamp(min=1, max=3).max().item() == 3
    assert tt.einsum("ij,kj->ik", x, x).tolist() == (x @ x.T).tolist()
    assert [p.shape for p in x.chunk(3, 1)] == [(2, 1)] * 3 and x.std().item() == pytest.approx(np.std(range(6), ddof=1))
    assert x.eq(x).all().item() and not x.isnan().any().item()
    assert tt.zeros((2, 2)).shape == tt.zeros(2, 2).shape == tt.zeros_like(tt.ones(2, 2)).shape


def test_random_numbers_repeat():
    tt.manual_seed(3)
    x = tt.randn(3)
    tt.manual_seed(3)
    assert tt.equal(x, tt.randn(3)) and tt.randint(0, 5, (4,)).dtype is tt.int64
    assert sorted(tt.randperm(5).tolist()) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    "call, kinds, message",
    [
        (lambda: tt.ones(2, 3) @ tt.ones(2, 3), (tt.ShapeError, ValueError), "inner sizes"),
        (lambda: tt.ones(2).requires_grad_() + tt.ones(3), (tt.ShapeError, ValueError), "add"),
        (lambda: tt.ones(2, dtype=tt.int32).requires_grad_(), (tt.DTypeError, TypeError), "requires_grad"),
        (lambda: tt.ones(2)[5], (tt.IndexError, IndexError), "5"),
        (lambda: tt.ones(2).backward(), (tt.AutogradError,), "backward"),
        (lambda: tt.ones(2, device="tpu"), (tt.DeviceError,), "tpu"),
        (lambda: tt.load("/nonexistent/file"), (tt.IoError, OSError), "nonexistent"),
        (lambda: tt.nn.functional.mse_loss(tt.ones(2), tt.ones(2), reduction="max"), (tt.StateError, ValueError), "max"),
    ],
)
def test_errors_have_builtin_bases(call, kinds, message):
    with pytest.raises(kinds[0], match=message) as error:
        call()
    for kind in (*kinds, tt.Error, RuntimeError):
        assert isinstance(error.value, kind)
    assert str(error.value).startswith(error.value.op)


def test_wrong_arguments_are_type_errors():
    with pytest.raises(TypeError):
        tt.zeros("a")
    with pytest.raises(TypeError):
        tt.ones(2).view("a")
    with pytest.raises(TypeError):
        tt.cat([1, 2])
    with pytest.raises(TypeError):
        tt.ones(2)["a"]


def test_numbers_are_formatted():
    x = tt.tensor([1.0, 2.5], requires_grad=True)
    assert f"{x.sum():.3f} {x[1]:>5} {tt.tensor(3):d}" == "3.500   2.5 3"
    assert f"{x}" == str(x)
    with pytest.raises(TypeError):
        f"{x:.3f}"


def test_contains_and_reversed():
    x = tt.tensor([1.0, 2.5])
    assert 2.5 in x and 3 not in x and x[0] in x
    assert [y.item() for y in reversed(x)] == [2.5, 1.0]
    with pytest.raises(TypeError):
        "a" in x  # noqa: B015


def test_printing():
    assert repr(tt.tensor([1.0, 2.5])) == "tensor([1. , 2.5])"
    assert repr(tt.tensor([1], dtype=tt.int32)) == "tensor([1], dtype=tandem.int32)"
    assert repr(tt.ones(1, dtype=tt.bfloat16, requires_grad=True)) == (
        "tensor([1.], dtype=tandem.bfloat16, requires_grad=True)"
    )
    assert repr(tt.device("cuda:1")) == "device('cuda:1')" and tt.ones(1).device == tt.device("cpu")


def test_deepcopy():
    x = tt.ones(2, requires_grad=True)
    y = copy.deepcopy(x)
    assert y.requires_grad and y.data_ptr() != x.data_ptr()


def test_safetensors(tmp_path):
    path = str(tmp_path / "weights.safetensors")
    tt.save({"a": tt.arange(3.0), "b": tt.ones(2, dtype=tt.bfloat16)}, path)
    state = tt.load(path)
    assert list(state) == ["a", "b"] and state["a"].tolist() == [0, 1, 2] and state["b"].dtype is tt.bfloat16


def test_errors_may_quote_bytes_that_are_not_utf8(tmp_path):
    path = tmp_path / "weights.safetensors"
    tt.save({"a": tt.arange(3.0)}, str(path))
    path.write_bytes(path.read_bytes().replace(b'"a"', b'"\xff"'))
    with pytest.raises(tt.IoError):
        tt.load(str(path))


def test_pytorch_files(tmp_path):
    path = tmp_path / "weights.pt"
    tt.save({"a": tt.arange(3.0)}, str(path))
    assert path.read_bytes().startswith(b"PK")
    assert tt.load(str(path))["a"].tolist() == tt.load(str(path), device="cpu")["a"].tolist() == [0, 1, 2]
    with pytest.raises(tt.IoError, match="save_npz"):
        tt.save({"a": tt.arange(3.0)}, str(tmp_path / "weights.npz"))
