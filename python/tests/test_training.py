"""Training under autocast and GradScaler."""

import gc
import weakref

import pytest

import tandem as tt
from tandem import nn


def data(n=256):
    tt.manual_seed(1)
    x = tt.randn(n, 8)
    return x, (x[:, :4].sum(1) > x[:, 4:].sum(1)).long()


def network():
    tt.manual_seed(2)
    return nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))


@pytest.mark.parametrize("dtype", [tt.bfloat16, tt.float16])
def test_training_under_autocast(dtype):
    x, target = data()
    net = network()
    optimizer = tt.optim.AdamW(net.parameters(), lr=1e-2)
    scaler = tt.amp.GradScaler(init_scale=1024.0)
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        with tt.amp.autocast("cpu", dtype):
            out = net(x)
            loss = nn.functional.cross_entropy(out, target)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    assert out.dtype is dtype and loss.dtype is tt.float32
    assert net[0].weight.dtype is tt.float32 and net[0].weight.grad.dtype is tt.float32
    assert losses[-1] < 0.2 * losses[0]
    accuracy = (net(x).argmax(1) == target).float().mean().item()
    assert accuracy > 0.95


def test_overflow_skips_the_step():
    w = nn.Parameter(tt.ones(2))
    optimizer = tt.optim.SGD([w], lr=1.0)
    scaler = tt.amp.GradScaler(init_scale=4.0)
    scaler.scale((w * float("inf")).sum()).backward()
    assert scaler.step(optimizer).skipped()
    scaler.update()
    assert w.tolist() == [1, 1] and scaler.get_scale() == 2.0
    optimizer.zero_grad()
    scaler.scale(w.sum()).backward()
    scaler.unscale_(optimizer)
    assert w.grad.tolist() == [1, 1]
    assert not scaler.step(optimizer).skipped()
    scaler.update()
    assert w.tolist() == [0, 0]
    other = tt.amp.GradScaler()
    other.load_state_dict(scaler.state_dict())
    assert other.get_scale() == 2.0 and scaler.state_dict()["growth_interval"] == 2000
    with pytest.raises(tt.StateError):
        scaler.update()
    assert tt.amp.GradScaler(enabled=False).get_scale() == 1.0


def test_clipping_after_unscaling():
    w = nn.Parameter(tt.ones(4))
    optimizer = tt.optim.SGD([w], lr=1.0)
    scaler = tt.amp.GradScaler()
    scaler.scale((3 * w).sum()).backward()
    scaler.unscale_(optimizer)
    assert nn.utils.clip_grad_norm_([w], max_norm=1.0).item() == 6
    assert w.grad.norm().item() == pytest.approx(1, rel=1e-4)
    nn.utils.clip_grad_value_(w, 0.25)
    scaler.step(optimizer)
    scaler.update()
    assert w.tolist() == [0.75] * 4


def test_autocast_scope():
    x = tt.ones(4, 4)
    assert not tt.amp.is_autocast_enabled("cpu")
    with tt.autocast("cpu"):
        assert tt.amp.is_autocast_enabled("cpu") and (x @ x).dtype is tt.bfloat16
        with tt.autocast("cpu", enabled=False):
            assert (x @ x).dtype is tt.float32
    assert (x @ x).dtype is tt.float32

    @tt.autocast("cpu", tt.float16)
    def f():
        return x @ x

    assert f().dtype is tt.float16
    with pytest.raises(tt.DTypeError):
        with tt.autocast("cpu", tt.int32):
            pass
    with pytest.raises(KeyError):
        with tt.autocast("cpu"):
            raise KeyError
    assert not tt.amp.is_autocast_enabled("cpu")


def test_writes_through_numpy_reach_autocast():
    """Casts of weights are cached: a write that tandem does not see must not leave a stale one."""
    w = nn.Parameter(tt.ones(2, 2))
    values = w.detach().numpy()
    x = tt.ones(1, 2)
    for number in (1.0, 3.0):
        values[:] = number
        with tt.autocast("cpu"):
            assert nn.functional.linear(x, w).tolist() == [[2 * number, 2 * number]]


@pytest.mark.parametrize("kind", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad"])
def test_optimizers(kind):
    w = nn.Parameter(tt.tensor([1.0, -2.0]))
    optimizer = getattr(tt.optim, kind)([w], lr=0.05)
    for _ in range(200):
        optimizer.zero_grad()
        (w * w).sum().backward()
        optimizer.step()
    assert abs(w.tolist()[0]) < 0.3
    state = optimizer.state_dict()
    other = getattr(tt.optim, kind)([nn.Parameter(tt.zeros(2))], lr=0.5)
    other.load_state_dict(state)
    assert other.param_groups[0]["lr"] == pytest.approx(0.05)


def test_param_groups():
    a, b = nn.Parameter(tt.ones(1)), nn.Parameter(tt.ones(1))
    optimizer = tt.optim.AdamW([{"params": [a]}, {"params": b, "lr": 0.5, "betas": (0.5, 0.6)}], lr=0.1)
    first, second = optimizer.param_groups
    assert (first["lr"], second["lr"], second["betas"]) == (0.1, 0.5, (0.5, 0.6))
    assert second["params"][0].is_same(b) and "weight_decay" in list(second)
    second["lr"] = 0.25
    assert optimizer.param_groups[1]["lr"] == 0.25
    with pytest.raises(KeyError):
        first["nonsense"] = 1
    with pytest.raises(KeyError):
        first["nonsense"]
    with pytest.raises(KeyError):
        tt.optim.SGD([{"params": [a], "nonsense": 1}])
    with pytest.raises(TypeError):
        tt.optim.SGD(a)
    with pytest.raises(tt.StateError):
        tt.optim.SGD([], lr=0.1)
    with pytest.raises(tt.StateError):
        tt.optim.SGD([a], lr=-1.0)
    optimizer.add_param_group({"params": [nn.Parameter(tt.ones(1))], "lr": 1.0})
    assert len(optimizer.param_groups) == 3
    assert tt.optim.SGD(p for p in [a]).param_groups[0]["lr"] == 1e-3


def test_closure_and_schedule():
    w = nn.Parameter(tt.ones(1))
    optimizer = tt.optim.SGD([w], lr=1.0)
    schedule = tt.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)

    def closure():
        optimizer.zero_grad()
        loss = (w * 0.5).sum()
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == 0.5 and w.item() == 0.5
    schedule.step()
    assert optimizer.param_groups[0]["lr"] == 0.5 and schedule.get_last_lr() == [0.5]

    def fails():
        raise KeyError("closure")

    with pytest.raises(KeyError, match="closure"):
        optimizer.step(fails)


def test_optimizers_are_freed():
    w = nn.Parameter(tt.ones(1))
    optimizer = tt.optim.SGD([w], lr=1.0)
    schedule = tt.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    group = optimizer.param_groups[0]
    del optimizer
    gc.collect()
    schedule.step()  # keeps the optimizer
    assert group["lr"] == pytest.approx(0.9)  # and so does the group
    alive = weakref.ref(w)
    del w, schedule, group
    gc.collect()
    assert alive() is None
