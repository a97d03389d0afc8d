"""Gradients, hooks and functions in Python: no deadlocks, no leaks, exceptions that pass through C++."""

import gc
import subprocess
import sys
import threading
import weakref

import pytest

import tandem as tt


class Exp(tt.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        y = (x * factor).exp()
        ctx.save_for_backward(y)
        ctx.factor = factor
        return y

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.saved_tensors[0] * ctx.factor, None


def test_backward():
    x = tt.tensor([1.0, 2.0], requires_grad=True)
    assert x.grad is None and x.is_leaf
    (x * x).sum().backward()
    assert x.grad.tolist() == [2, 4]
    x.grad = None
    assert x.grad is None
    (g,) = tt.autograd.grad((x**3).sum(), x, create_graph=True)
    (h,) = tt.autograd.grad(g.sum(), [x])
    assert g.tolist() == [3, 12] and h.tolist() == [6, 12]


def test_modes():
    x = tt.ones(2, requires_grad=True)
    with tt.no_grad():
        assert not (x * 2).requires_grad
        with tt.enable_grad():
            assert (x * 2).requires_grad
    with tt.set_grad_enabled(False):
        assert not tt.is_grad_enabled()
    with tt.inference_mode():
        assert not (x * 2).requires_grad

    @tt.no_grad()
    def f():
        return x * 2

    assert not f().requires_grad and tt.is_grad_enabled()
    with pytest.raises(ValueError):
        with tt.no_grad():
            raise ValueError
    assert tt.is_grad_enabled()


def test_hooks():
    x = tt.ones(2, requires_grad=True)
    seen = []
    handle = x.register_hook(lambda g: seen.append(g.tolist()))
    y = x * 3
    y.register_hook(lambda g: g * 2)
    y.sum().backward()
    assert seen == [[6, 6]] and x.grad.tolist() == [6, 6]
    handle.remove()
    x.sum().backward()
    assert len(seen) == 1


def test_exception_in_a_hook():
    x = tt.ones(2, requires_grad=True)

    class Stop(Exception):
        pass

    def hook(grad):
        raise Stop("here")

    x.register_hook(hook)
    with pytest.raises(Stop, match="here"):
        x.sum().backward()


def test_hooks_are_freed():
    class Hook:
        def __call__(self, grad):
            return None

    x = tt.ones(2, requires_grad=True)
    leaf_hook, removed_hook, inner_hook = Hook(), Hook(), Hook()
    alive = [weakref.ref(h) for h in (leaf_hook, removed_hook, inner_hook)]
    x.register_hook(leaf_hook)
    x.register_hook(removed_hook).remove()
    y = x * 2
    y.register_hook(inner_hook)
    del leaf_hook, removed_hook, inner_hook
    gc.collect()
    assert [r() is not None for r in alive] == [True, False, True]
    y.sum().backward()
    del y
    gc.collect()
    assert alive[2]() is None
    del x
    gc.collect()
    assert alive[0]() is None


def test_function():
    x = tt.tensor([0.0, 1.0], requires_grad=True)
    Exp.apply(x, 2.0).sum().backward()
    assert tt.allclose(x.grad, 2 * (2 * x.detach()).exp())
    assert not Exp.apply(x.detach(), 2.0).requires_grad
    assert tt.autograd.grad(Exp.apply(x, 1.0).sum(), x)[0].shape == (2,)


def test_exception_in_a_function():
    class Fails(tt.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            raise KeyError("backward")

    x = tt.ones(2, requires_grad=True)
    with pytest.raises(KeyError, match="backward"):
        Fails.apply(x).sum().backward()

    class Wrong(Fails):
        @staticmethod
        def backward(ctx, grad):
            return ()

    with pytest.raises(tt.AutogradError, match="0 gradients for 1 arguments"):
        Wrong.apply(x).sum().backward()


def test_functions_are_freed():
    class Big:
        pass

    class Keeps(tt.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.big = Big()
            alive.append(weakref.ref(ctx.big))
            y = x * 2
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    alive = []
    x = tt.ones(2, requires_grad=True)
    y = Keeps.apply(x)
    gc.collect()
    assert alive[0]() is not None
    y.sum().backward()
    del y
    gc.collect()
    assert alive[0]() is None
    Keeps.apply(x)  # never used in backward
    gc.collect()
    assert alive[1]() is None


def test_backward_on_several_threads():
    """Hooks need the GIL that backward() has released: with it held, the threads would wait for each other."""
    weights = [tt.ones(64, 64, requires_grad=True) for _ in range(4)]
    calls = []

    def work(w):
        w.register_hook(lambda g: calls.append(threading.get_ident()))
        for _ in range(20):
            Exp.apply((w @ w).mean(), 1e-3).backward()

    threads = [threading.Thread(target=work, args=(w,)) for w in weights]
    for t in threads:
        t.start()
    for t in threads:
        t.join(timeout=60)
    assert not any(t.is_alive() for t in threads) and len(calls) == 80


def test_the_gil_is_released():
    """Another thread runs while a long op does."""
    x = tt.ones(1500, 1500)
    counter = [0]
    stop = threading.Event()

    def count():
        while not stop.is_set():
            counter[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    before = counter[0]
    x @ x
    counted = counter[0] - before
    stop.set()
    thread.join()
    assert counted > 0


EXIT_PROGRAM = """
import threading, numpy as np, tandem as tt
class Double(tt.autograd.Function):
    @staticmethod
    def forward(ctx, x): return x * 2
    @staticmethod
    def backward(ctx, g): return g * 2
w = tt.from_numpy(np.ones(8, np.float32)).requires_grad_()
w.register_hook(lambda g: g * 1)
net = tt.nn.Sequential(tt.nn.Linear(8, 8), tt.nn.ReLU())
net.own = net[0]
optimizer = tt.optim.AdamW(net.parameters())
with tt.amp.autocast("cpu", tt.bfloat16):
    loss = Double.apply(net(w[None])).sum()
loss.backward()
optimizer.step()
kept = Double.apply(w)          # a graph with Python objects is alive at exit
array = tt.ones(3).numpy()
scope = tt.no_grad().__enter__()  # never left
thread = threading.Thread(target=lambda: (tt.ones(300, 300) @ tt.ones(300, 300)).sum().item())
thread.start()
{end}
"""


@pytest.mark.parametrize("end, code", [("thread.join()", 0), ("", 0), ("import sys; sys.exit(3)", 3)])
def test_exit_is_clean(end, code):
    done = subprocess.run(
        [sys.executable, "-c", EXIT_PROGRAM.format(end=end)], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stderr) == (code, "")
