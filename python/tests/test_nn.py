"""Modules: registration, listing, state, moving, and their life."""

import gc
import weakref

import pytest

import tandem as tt
from tandem import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 8)
        self.norm = nn.BatchNorm1d(8)
        self.fc2 = nn.Linear(8, 3)
        self.scale = nn.Parameter(tt.ones(1))
        self.register_buffer("steps", tt.zeros(1))
        self.note = "text"

    def forward(self, x):
        return self.fc2(nn.functional.relu(self.norm(self.fc1(x)))) * self.scale


def test_registration_by_attribute():
    net = Net()
    assert [name for name, _ in net.named_parameters()] == [
        "scale", "fc1.weight", "fc1.bias", "norm.weight", "norm.bias", "fc2.weight", "fc2.bias",
    ]  # fmt: skip
    assert len(list(net.parameters())) == 7
    assert [name for name, _ in net.named_buffers()] == [
        "steps", "norm.running_mean", "norm.running_var", "norm.num_batches_tracked",
    ]  # fmt: skip
    assert [name for name, _ in net.named_modules()] == ["", "fc1", "norm", "fc2"]
    assert net.fc1.weight is dict(net.named_parameters())["fc1.weight"] and net.fc1.weight.requires_grad
    del net.scale
    assert "scale" not in dict(net.named_parameters()) and not hasattr(net, "scale")
    net.fc1 = None
    assert [name for name, _ in net.named_modules()] == ["", "norm", "fc2"]
    with pytest.raises(TypeError):
        net.fc2 = "text"
    with pytest.raises(AttributeError, match="missing"):
        net.missing

    class Late(nn.Module):
        def __init__(self):
            self.fc = nn.Linear(1, 1)

    with pytest.raises(AttributeError, match="super"):
        Late()


def test_tied_parameters_are_listed_once():
    net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    net[1].weight = net[0].weight
    assert [name for name, _ in net.named_parameters()] == ["0.weight", "0.bias", "1.bias"]
    assert list(net.state_dict()) == ["0.weight", "0.bias", "1.weight", "1.bias"]
    net(tt.ones(2, 3)).sum().backward()
    assert net[0].weight.grad is not None


def test_train_and_eval():
    net = nn.Sequential(nn.Dropout(0.5), nn.Sequential(nn.Dropout(0.5)))
    x = tt.ones(100)
    assert (net(x) == 0).any().item()
    assert net.eval() is net and tt.equal(net(x), x) and not net[1][0].training
    assert net.train()[1][0].training


def test_state_dict(tmp_path):
    net, other = Net(), Net()
    path = str(tmp_path / "net.safetensors")
    tt.save(net.state_dict(), path)
    result = other.load_state_dict(tt.load(path))
    assert result.missing_keys == [] and result.unexpected_keys == []
    x = tt.randn(5, 4)
    assert tt.equal(net.eval()(x), other.eval()(x))
    state = net.state_dict()
    state["fc1.weight"] = tt.ones(1)
    del state["scale"]
    state["more"] = tt.ones(1)
    before = other.fc2.weight.clone()
    with pytest.raises(tt.StateError, match="fc1.weight has sizes.*scale is missing.*more is unexpected"):
        other.load_state_dict(state)
    assert tt.equal(before, other.fc2.weight)
    state["fc1.weight"] = net.fc1.weight
    assert other.load_state_dict(state, strict=False) == (["scale"], ["more"])


def test_to_keeps_parameters_and_optimizers_valid():
    net = Net()
    weight = net.fc1.weight
    optimizer = tt.optim.SGD(net.parameters(), lr=0.1)
    assert net.to(tt.float64) is net
    assert net.fc1.weight is weight and weight.dtype is tt.float64
    assert net.norm.running_mean.dtype is tt.float64 and net.norm.num_batches_tracked.dtype is tt.int64
    (net(tt.randn(5, 4, dtype=tt.float64)) ** 2).sum().backward()
    before = weight.clone()
    optimizer.step()
    assert not tt.equal(before, weight)
    assert net.to("cpu").float().fc1.weight.grad.dtype is tt.float32
    with pytest.raises(tt.DTypeError):
        net.to(tt.int32)


def test_layers():
    tt.manual_seed(0)
    images = tt.randn(2, 3, 8, 8)
    net = nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.GELU(), nn.MaxPool2d(2), nn.Flatten(), nn.LayerNorm(64),
        nn.Dropout(0.1), nn.Linear(64, 5),
    )  # fmt: skip
    y = net(images)
    y.sum().backward()
    assert y.shape == (2, 5) and all(p.grad is not None for p in net.parameters())
    assert net[1].num_batches_tracked.item() == 1
    assert nn.Embedding(10, 4)(tt.tensor([[1, 2]])).shape == (1, 2, 4)
    q = tt.randn(1, 2, 5, 4)
    assert nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True).shape == (1, 2, 5, 4)
    assert "Linear(in_features=64, out_features=5, bias=True)" in repr(net)
    assert len(nn.ModuleList([nn.ReLU(), nn.ReLU()])) == 2 and isinstance(net[:2], nn.Sequential)


def test_embedding_padding():
    table = nn.Embedding(4, 2, padding_idx=1)
    assert table.weight[1].tolist() == [0, 0]
    table(tt.tensor([1, 2])).sum().backward()
    assert table.weight.grad[1].tolist() == [0, 0] and table.weight.grad[2].tolist() == [1, 1]


def test_modules_are_freed():
    net = Net()
    alive = [weakref.ref(m) for m in net.modules()] + [weakref.ref(p) for p in net.parameters()]
    optimizer = tt.optim.Adam(net.parameters())
    net(tt.ones(2, 4)).sum().backward()
    optimizer.step()
    del net, optimizer
    gc.collect()
    assert all(r() is None for r in alive)


def test_cycles_are_collected():
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(2, 2)
            self.activation = lambda x: self.fc(x)  # a cycle through the closure

        def forward(self, x):
            return self.activation(x)

    class Child(nn.Module):
        def __init__(self, parent):
            super().__init__()
            self.__dict__["parent"] = parent  # a cycle through an attribute that is not registered

    block = Block()
    block.child = Child(block)
    block(tt.ones(1, 2)).sum().backward()
    alive = [weakref.ref(m) for m in block.modules()]
    del block
    gc.collect()
    assert all(r() is None for r in alive)
