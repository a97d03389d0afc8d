"""A program with annotations. test_stubs.py checks it with `mypy --strict`, and runs it."""

import numpy
from typing_extensions import assert_type

import tandem as tt
from tandem import nn
from tandem.amp import GradScaler
from tandem.optim.lr_scheduler import StepLR


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(8, 64)
        self.fc2 = nn.Linear(64, 2)

    def forward(self, x: tt.Tensor) -> tt.Tensor:
        hidden = nn.functional.relu(self.fc1(x))
        output: tt.Tensor = self.fc2(hidden)
        return output


class Exp(tt.autograd.Function):
    @staticmethod
    def forward(ctx: tt.autograd.FunctionContext, x: tt.Tensor) -> tt.Tensor:
        y = x.exp()
        ctx.save_for_backward(y)
        ctx.sizes = x.shape
        return y

    @staticmethod
    def backward(ctx: tt.autograd.FunctionContext, grad: tt.Tensor) -> tt.Tensor:
        y: tt.Tensor = ctx.saved_tensors[0]
        return grad * y


@tt.no_grad()
def accuracy(net: Net, inputs: tt.Tensor, targets: tt.Tensor) -> float:
    return float(net(inputs).argmax(1).eq(targets).float().mean())


def train(path: str) -> float:
    tt.manual_seed(0)
    inputs = tt.randn(512, 8, dtype=tt.float32)
    targets = (inputs[:, :4].sum(1) > inputs[:, 4:].sum(1)).long()
    net = assert_type(Net().to(tt.float32).train(), Net)
    optimizer = tt.optim.AdamW(net.parameters(), lr=1e-2)
    schedule = StepLR(optimizer, step_size=2, gamma=0.5)
    scaler = GradScaler()
    for _ in range(3):
        for batch in tt.randperm(512).split(64):
            optimizer.zero_grad()
            with tt.amp.autocast("cpu", tt.bfloat16):
                loss = nn.functional.cross_entropy(net(inputs[batch]), targets[batch])
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            assert_type(scaler.step(optimizer).skipped(), bool)
            scaler.update()
        schedule.step()
    tt.save(net.state_dict(), path)
    assert not net.load_state_dict(tt.load(path)).missing_keys
    return accuracy(net, inputs, targets)


def types() -> None:
    x = tt.zeros(3, requires_grad=True)
    Exp.apply(x).sum().backward()
    gradient = x.grad
    assert gradient is not None
    assert_type(gradient, tt.Tensor)
    assert_type(gradient.shape, tuple[int, ...])
    assert_type(gradient.size(0), int)
    assert_type(gradient.dtype, tt.dtype)
    assert_type(gradient.dtype.itemsize, int)
    assert_type(gradient.dtype.is_floating_point, bool)
    assert_type(gradient.device, tt.device)
    assert_type(gradient[0].item(), bool | int | float)
    assert_type(gradient.int(), tt.Tensor)
    assert_type(gradient.to("cpu", tt.float64) + 1, tt.Tensor)
    assert_type(1 - gradient, tt.Tensor)
    assert_type(list(gradient), list[tt.Tensor])
    assert_type(gradient.chunk(2), list[tt.Tensor])
    assert tt.from_numpy(numpy.zeros(2)).numpy().shape == (2,)
    assert_type(tt.einsum("i,i", x, x), tt.Tensor)
    assert_type(tt.get_num_threads(), int)
    assert_type(tt.__version__, str)
    assert tt.optim.SGD([x], lr=0.1, momentum=0.9).param_groups[0]["lr"] == 0.1
    try:
        tt.ones(2) @ tt.ones(3)
    except tt.ShapeError as error:
        assert_type(error.op, str)
