"""The networks of the training benchmarks in PyTorch: those of train/models.h and of the examples' models, with the same
names and the same order of parameters. `make(workload)` returns one whose method loss(x, y) is what a step computes."""
import torch
import torch.nn as nn
import torch.nn.functional as F

CNNS = ("big_cnn", "simple_cnn", "resnet18", "unet", "vit")
MEMORY_FORMATS = {"contiguous": torch.contiguous_format, "channels_last": torch.channels_last}


class Mlp(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc1, self.fc2, self.fc3 = (nn.Linear(width, width) for _ in range(3))

    def loss(self, x, y):
        return F.mse_loss(self.fc3(F.relu(self.fc2(F.relu(self.fc1(x))))), y)


class SimpleCnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 32, 5), nn.Conv2d(32, 64, 5)
        self.fc1, self.fc2 = nn.Linear(1024, 128), nn.Linear(128, 10)

    def loss(self, x, y):
        h = F.relu(F.max_pool2d(self.conv1(x), 2))
        h = F.relu(F.max_pool2d(self.conv2(h), 2))
        h = F.relu(self.fc1(h.reshape(-1, 1024)))
        return F.nll_loss(F.log_softmax(self.fc2(h).float(), 1), y)


class BigCnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 420, 3, padding=1), nn.Conv2d(420, 1000, 3, padding=1)
        self.fc = nn.Linear(49000, 10)

    def forward(self, x):
        h = F.max_pool2d(F.relu(self.conv1(x)), 2)
        return self.fc(F.max_pool2d(F.relu(self.conv2(h)), 2).flatten(1))


def conv3x3(inputs, outputs, stride=1):
    return nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False)


class BasicBlock(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1, self.bn1 = conv3x3(inputs, outputs, stride), nn.BatchNorm2d(outputs)
        self.conv2, self.bn2 = conv3x3(outputs, outputs), nn.BatchNorm2d(outputs)
        self.shortcut = nn.Sequential()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False),
                                          nn.BatchNorm2d(outputs))

    def forward(self, x):
        return F.relu(self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))) + self.shortcut(x))


class ResNet18(nn.Module):
    def __init__(self, channels, width, classes):
        super().__init__()
        self.conv, self.bn = conv3x3(channels, width), nn.BatchNorm2d(width)
        blocks, inputs = [], width
        for stage in range(4):
            outputs = width << stage
            blocks += [BasicBlock(inputs, outputs, 1 if stage == 0 else 2), BasicBlock(outputs, outputs, 1)]
            inputs = outputs
        self.blocks, self.fc = nn.Sequential(*blocks), nn.Linear(8 * width, classes)

    def forward(self, x):
        return self.fc(F.adaptive_avg_pool2d(self.blocks(F.relu(self.bn(self.conv(x)))), 1).flatten(1))


def double_conv(inputs, outputs):
    return nn.Sequential(conv3x3(inputs, outputs), nn.BatchNorm2d(outputs), nn.ReLU(),
                         conv3x3(outputs, outputs), nn.BatchNorm2d(outputs), nn.ReLU())


class UNet(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.depth = depth
        for i in range(depth):
            channels = width << i
            self.add_module(f"down{i}", double_conv(1 if i == 0 else channels // 2, channels))
            self.add_module(f"up{i}", nn.ConvTranspose2d(2 * channels, channels, 2, stride=2))
            self.add_module(f"merge{i}", double_conv(2 * channels, channels))
        self.bottom = double_conv(width << (depth - 1), width << depth)
        self.scores = nn.Conv2d(width, 1, 1)

    def forward(self, x):
        skipped = []
        for i in range(self.depth):
            x = getattr(self, f"down{i}")(x)
            skipped.append(x)
            x = F.max_pool2d(x, 2)
        x = self.bottom(x)
        for i in reversed(range(self.depth)):
            x = getattr(self, f"merge{i}")(torch.cat([skipped[i], getattr(self, f"up{i}")(x)], 1))
        return self.scores(x)


class TransformerBlock(nn.Module):
    def __init__(self, width, heads, causal):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.norm1, self.qkv, self.proj = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.norm2, self.fc1, self.fc2 = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, tokens, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, tokens, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        x = x + self.proj(mixed.transpose(1, 2).reshape(batch, tokens, width))
        return x + self.fc2(F.gelu(self.fc1(self.norm2(x))))


class Transformer(nn.Module):
    def __init__(self, width, depth, heads, causal):
        super().__init__()
        self.blocks = nn.Sequential(*(TransformerBlock(width, heads, causal) for _ in range(depth)))
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        return self.norm(self.blocks(x))


class Gpt(nn.Module):
    def __init__(self, vocabulary, context, width, depth, heads):
        super().__init__()
        self.token, self.position = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.body = Transformer(width, depth, heads, causal=True)

    def forward(self, tokens):
        return F.linear(self.body(self.token(tokens) + self.position.weight[:tokens.size(1)]), self.token.weight)


class Bert(nn.Module):
    def __init__(self, vocabulary, context, width, depth, heads):
        super().__init__()
        self.word, self.position = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.body = Transformer(width, depth, heads, causal=False)
        self.scores = nn.Linear(width, vocabulary)

    def forward(self, words):
        return self.scores(self.body(self.word(words) + self.position.weight[:words.size(1)]))


class Vit(nn.Module):
    def __init__(self, image, patch, width, depth, heads):
        super().__init__()
        self.first = nn.Parameter(torch.zeros(1, 1, width))
        self.position = nn.Parameter(torch.zeros(1, (image // patch) ** 2 + 1, width))
        self.patches = nn.Conv2d(1, width, patch, stride=patch)
        self.body = Transformer(width, depth, heads, causal=False)
        self.scores = nn.Linear(width, 10)

    def forward(self, images):
        x = self.patches(images).flatten(2).transpose(1, 2)
        return self.scores(self.body(torch.cat([self.first.expand(x.size(0), -1, -1), x], 1) + self.position)[:, 0])


class Lstm(nn.Module):
    def __init__(self, vocabulary, width, layers):
        super().__init__()
        self.token = nn.Embedding(vocabulary, width)
        self.body = nn.LSTM(width, width, layers, batch_first=True)
        self.scores = nn.Linear(width, vocabulary)

    def forward(self, tokens):
        return self.scores(self.body(self.token(tokens))[0])


class Tabular(nn.Module):
    def __init__(self, categories, numbers, width, embedding=8):
        super().__init__()
        for i, count in enumerate(categories):
            self.add_module(f"column{i}", nn.Embedding(count, embedding))
        self.columns = len(categories)
        self.fc1 = nn.Linear(embedding * self.columns + numbers, width)
        self.fc2, self.fc3 = nn.Linear(width, width), nn.Linear(width, 1)

    def forward(self, categories, numbers):
        parts = [numbers] + [getattr(self, f"column{i}")(categories[:, i]) for i in range(self.columns)]
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(torch.cat(parts, 1)))))).squeeze(1)


class WithLoss(nn.Module):
    def __init__(self, network, loss):
        super().__init__()
        self.network, self.loss_of = network, loss

    def loss(self, x, y):
        return self.loss_of(self.network, x, y)


def classify(network):
    return WithLoss(network, lambda net, x, y: F.cross_entropy(net(x).flatten(0, -2).float(), y.flatten()))


def make(workload):
    """Returns the network of a workload."""
    if workload == "recipe":
        return Mlp(4096)
    if workload == "tiny_mlp":
        return Mlp(64)
    if workload == "simple_cnn":
        return SimpleCnn()
    if workload == "unet":
        return WithLoss(UNet(16, 3), lambda net, x, y: F.binary_cross_entropy_with_logits(net(x).float(), y))
    if workload == "tabular":
        return WithLoss(Tabular([5, 7, 8], 6, 256), lambda net, x, y: F.mse_loss(net(x[:, :3].long(), x[:, 3:]).float(), y))
    return classify({"big_cnn": BigCnn, "resnet18": lambda: ResNet18(3, 64, 10),
                     "gpt": lambda: Gpt(65, 256, 384, 6, 6), "gpt2_124m": lambda: Gpt(50304, 1024, 768, 12, 12),
                     "bert": lambda: Bert(4000, 32, 192, 4, 6), "vit": lambda: Vit(28, 4, 128, 4, 4),
                     "lstm": lambda: Lstm(65, 256, 2)}[workload]())
