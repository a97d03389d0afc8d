"""Comparison with PyTorch in one process, where it is installed. Memory is shared by DLPack."""

import gc
import operator

import numpy as np
import pytest

import tandem as tt
from tandem import nn

torch = pytest.importorskip("torch")


def close(x, y, **tolerances):
    np.testing.assert_allclose(x.detach().float().numpy(), y.detach().float().numpy(), **tolerances)


def pair(*shape, seed=0, requires_grad=True):
    """The same values as a tensor of each library."""
    values = np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
    return tt.tensor(values, requires_grad=requires_grad), torch.tensor(values, requires_grad=requires_grad)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64", "int64", "int32", "uint8", "bool"])
def test_dlpack_both_ways(dtype):
    y = torch.ones(2, 3, dtype=getattr(torch, dtype)).t()
    x = tt.from_dlpack(y)
    assert x.data_ptr() == y.data_ptr() and x.dtype is getattr(tt, dtype) and x.stride() == y.stride()
    z = torch.from_dlpack(x)
    assert z.data_ptr() == y.data_ptr() and z.dtype == y.dtype
    del x, y
    gc.collect()
    assert z.sum().item() == 6
    x = tt.ones(2, 3, dtype=getattr(tt, dtype))
    z = torch.from_dlpack(x)
    del x
    gc.collect()
    tt.zeros(2, 3)
    assert z.sum().item() == 6


FUNCTIONS = {
    "matmul": (lambda F, a, b: a @ b.transpose(0, 1), (4, 6), (5, 6)),
    "softmax": (lambda F, a: F.softmax(a, 1) * a, (4, 6)),
    "log_softmax": (lambda F, a: F.log_softmax(a, -1) * a, (4, 6)),
    "gelu": (lambda F, a: F.gelu(a) + F.gelu(a, approximate="tanh"), (4, 6)),
    "relu": (lambda F, a: F.relu(a), (4, 6)),
    "layer_norm": (lambda F, a, w, b: F.layer_norm(a, (6,), w, b) * a, (4, 6), (6,), (6,)),
    "linear": (lambda F, a, w, b: F.linear(a, w, b), (4, 6), (3, 6), (3,)),
    "conv2d": (lambda F, a, w, b: F.conv2d(a, w, b, stride=2, padding=1), (2, 3, 8, 8), (4, 3, 3, 3), (4,)),
    "max_pool2d": (lambda F, a: F.max_pool2d(a, 2), (2, 3, 8, 8)),
    "mse_loss": (lambda F, a, b: F.mse_loss(a, b), (4, 6), (4, 6)),
    "attention": (
        lambda F, q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), (2, 2, 5, 4), (2, 2, 5, 4),
        (2, 2, 5, 4),
    ),
    "statistics": (lambda F, a: a.mean(0) + a.var(0) + a.sum() + a.max() * a.min(), (4, 6)),
    "arithmetic": (lambda F, a, b: (a * b - a / (b * b + 1) + 2 - 3 * a) ** 2, (4, 6), (1, 6)),
    "indexing": (lambda F, a: a[1:, ::2] * a[0, 0] + a[[0, 1, 2]][:, :3], (4, 6)),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_gradients(name):
    function, *shapes = FUNCTIONS[name]
    pairs = [pair(*shape, seed=i) for i, shape in enumerate(shapes)]
    ours = function(nn.functional, *[x for x, _ in pairs])
    theirs = function(torch.nn.functional, *[y for _, y in pairs])
    close(ours, theirs, rtol=1e-5, atol=1e-5)
    ours.sum().backward()
    theirs.sum().backward()
    for x, y in pairs:
        close(x.grad, y.grad, rtol=1e-4, atol=1e-4)


def test_cross_entropy_and_embedding():
    x, y = pair(4, 6)
    w, v = pair(6, 6, seed=1)
    target = np.array([1, 0, 5, 2])
    ours = nn.functional.cross_entropy(
        nn.functional.embedding(tt.tensor(target), w) + x, tt.tensor(target), label_smoothing=0.1
    )
    theirs = torch.nn.functional.cross_entropy(
        torch.nn.functional.embedding(torch.tensor(target), v) + y, torch.tensor(target), label_smoothing=0.1
    )
    close(ours, theirs, rtol=1e-5)
    ours.backward()
    theirs.backward()
    close(x.grad, y.grad, rtol=1e-4, atol=1e-6)
    close(w.grad, v.grad, rtol=1e-4, atol=1e-6)


def networks():
    """The same network in both libraries, with the same weights. Without a bias before the batch norm: its gradient
    would be rounding errors only, which Adam amplifies."""
    def build(nn):
        return nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
            nn.Linear(64, 32), nn.LayerNorm(32), nn.GELU(), nn.Linear(32, 10),
        )  # fmt: skip

    ours, theirs = build(nn), build(torch.nn)
    ours.load_state_dict({name: tt.from_dlpack(value) for name, value in theirs.state_dict().items()})
    return ours, theirs


OPTIMIZERS = {
    "SGD": dict(lr=0.05, momentum=0.9, weight_decay=1e-4),
    "Adam": dict(lr=1e-3),
    "AdamW": dict(lr=1e-3, weight_decay=0.05),
}


@pytest.mark.parametrize("kind", OPTIMIZERS)
@pytest.mark.parametrize("dtype", [None, "bfloat16"])
def test_twenty_steps(kind, dtype):
    torch.manual_seed(0)
    ours, theirs = networks()
    assert list(ours.state_dict()) == list(theirs.state_dict())
    our_optimizer = getattr(tt.optim, kind)(ours.parameters(), **OPTIMIZERS[kind])
    their_optimizer = getattr(torch.optim, kind)(theirs.parameters(), **OPTIMIZERS[kind])
    # torch.amp.GradScaler("cpu") scales on the CPU too.
    our_scaler, their_scaler = tt.amp.GradScaler(), torch.amp.GradScaler("cpu")
    generator = np.random.default_rng(0)
    losses = []
    for _ in range(20):
        images = generator.standard_normal((16, 1, 8, 8)).astype(np.float32)
        target = generator.integers(0, 10, 16)
        step = []
        for library, net, optimizer, scaler in (
            (tt, ours, our_optimizer, our_scaler), (torch, theirs, their_optimizer, their_scaler),
        ):  # fmt: skip
            optimizer.zero_grad()
            with library.amp.autocast("cpu", getattr(library, dtype or "bfloat16"), enabled=dtype is not None):
                out = net(library.from_numpy(images))
                loss = library.nn.functional.cross_entropy(out, library.from_numpy(target))
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            step.append(loss.item())
        losses.append(step)
    losses = np.array(losses)
    np.testing.assert_allclose(losses[:, 0], losses[:, 1], rtol=2e-4 if dtype is None else 3e-2)
    for name, value in ours.state_dict().items():
        close(value, theirs.state_dict()[name], rtol=0, atol=2e-3 if dtype is None else 5e-2)


# ---- operators and other special methods
# Not here: those of Python 2, of pickling, of subclasses, and of CUDA's array interface (DLPack replaces it).
WITHOUT = {
    "__annotations__", "__class__", "__cuda_array_interface__", "__delattr__", "__delitem__", "__dict__", "__dir__",
    "__div__", "__dlpack_c_exchange_api__", "__idiv__", "__long__", "__nonzero__", "__rdiv__", "__setstate__",
    "__torch_dispatch__", "__torch_function__", "__weakref__",
}  # fmt: skip
BINARY = [getattr(operator, name) for name in [
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "or_", "xor", "lshift", "rshift", "eq",
    "ne", "lt", "le", "gt", "ge", "iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "iand", "ior", "ixor",
    "ilshift", "irshift", "imatmul", "contains",
]]  # fmt: skip
UNARY = [
    operator.neg, operator.pos, operator.abs, operator.invert, bool, float, int, complex, operator.index, len, list,
    format, round, lambda x: format(x, ".3f"), lambda x: list(reversed(x)), lambda x: x[[]], lambda x: x[..., []],
]  # fmt: skip
OPERANDS = [
    [5.0, -7.0], [5, 7], [True, False], 3.0, 3, True, [0.0]
]  # fmt: skip
NUMBERS = [7, 2.5, True, -1]


def as_numbers(result):
    """What both libraries' results have in common: Python's numbers and the name of the dtype."""
    if isinstance(result, (tt.Tensor, torch.Tensor)):
        return str(result.dtype).split(".")[-1], np.asarray(result.detach()).tolist()
    if isinstance(result, list):
        return [as_numbers(x) for x in result]
    return result


def outcome(call, *operands):
    try:
        return as_numbers(call(*operands))
    except Exception:
        return "refused"


def same(ours, theirs):
    return np.array_equal(ours, theirs, equal_nan=True) if isinstance(ours, (int, float)) else str(ours) == str(theirs)


def test_has_the_special_methods_of_torch():
    missing = {name for name in dir(torch.Tensor) if name.startswith("__")} - set(dir(tt.Tensor)) - WITHOUT
    assert not missing


def test_binary_operators_answer_like_torch():
    def operands(library):
        tensors = [library.tensor(a) for a in OPERANDS]
        yield from ((x.clone(), y) for x in tensors for y in [*tensors, *NUMBERS, "a", None])
        yield from ((y, x) for x in tensors for y in NUMBERS)

    different = []
    for call in BINARY:
        for ours, theirs in zip(operands(tt), operands(torch), strict=True):
            results = outcome(call, *ours), outcome(call, *theirs)
            kinds = {np.asarray(x).dtype.kind for x in theirs}
            # docs/differences.md: no products of integers, but powers of bools.
            is_known = ("matmul" in call.__name__ and kinds == {"i"}) or ("pow" in call.__name__ and kinds == {"b"})
            if not same(*results) and not is_known:
                different.append((call.__name__, *theirs, *results))
    assert not different


@pytest.mark.parametrize("call", UNARY)
def test_unary_operators_answer_like_torch(call):
    for a in OPERANDS:
        ours, theirs = (outcome(call, library.tensor(a)) for library in (tt, torch))
        assert same(ours, theirs) or (call is format and ours != "refused"), (a, ours, theirs)
