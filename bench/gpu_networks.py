"""vdnn's networks (src/model) in torch.nn, as lists of pieces that can be checkpointed one by one."""

import torch
from torch import nn


def relu():
    return nn.ReLU(inplace=True)


def classifier(inputs, widths, classes, dropout_first):
    layers = [nn.Flatten()]
    for width in widths:
        linear = [nn.Linear(inputs, width), relu()]
        layers += [nn.Dropout(), *linear] if dropout_first else [*linear, nn.Dropout()]
        inputs = width
    return nn.Sequential(*layers, nn.Linear(inputs, classes))


class Network(nn.Module):
    """Pieces one behind the other; `asides` has, by piece, a classifier of its output that counts 0.3."""

    def __init__(self, pieces, asides=None):
        super().__init__()
        self.pieces = nn.ModuleList(pieces)
        self.asides = nn.ModuleDict({str(i): aside for i, aside in (asides or {}).items()})

    def loss(self, x, labels, run_piece=None):
        run_piece = run_piece or (lambda piece, value: piece(value))
        total = 0
        for i, piece in enumerate(self.pieces):
            x = run_piece(piece, x)
            if str(i) in self.asides:
                logits = run_piece(self.asides[str(i)], x)
                total = total + 0.3 * nn.functional.cross_entropy(logits, labels)
        return total + nn.functional.cross_entropy(x, labels)


def conv(inputs, outputs, kernel, **options):
    return nn.Conv2d(inputs, outputs, kernel, **options)


def after(side, kernel, stride=1, padding=0, ceil=False):
    """Of a window: the image's side behind it."""
    over = side + 2 * padding - kernel
    return (-(-over // stride) if ceil else over // stride) + 1


def alexnet(image, classes):
    side = after(after(after(after(image, 11, 4, 2), 3, 2), 3, 2), 3, 2)
    return Network([
        nn.Sequential(conv(3, 64, 11, stride=4, padding=2), relu(), nn.MaxPool2d(3, 2)),
        nn.Sequential(conv(64, 192, 5, padding=2), relu(), nn.MaxPool2d(3, 2)),
        nn.Sequential(conv(192, 384, 3, padding=1), relu(), conv(384, 256, 3, padding=1), relu(),
                      conv(256, 256, 3, padding=1), relu(), nn.MaxPool2d(3, 2)),
        classifier(256 * side * side, (4096, 4096), classes, True)])


def overfeat(image, classes):
    side = after(after(after(after(image, 11, 4), 2, 2), 5), 2, 2) // 2
    return Network([
        nn.Sequential(conv(3, 96, 11, stride=4), relu(), nn.MaxPool2d(2)),
        nn.Sequential(conv(96, 256, 5), relu(), nn.MaxPool2d(2)),
        nn.Sequential(conv(256, 512, 3, padding=1), relu(), conv(512, 1024, 3, padding=1), relu(),
                      conv(1024, 1024, 3, padding=1), relu(), nn.MaxPool2d(2)),
        classifier(1024 * side * side, (3072, 4096), classes, False)])


def vgg16(image, classes):
    pieces, channels = [], 3
    for outputs, count in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        layers = []
        for _ in range(count):
            layers += [conv(channels, outputs, 3, padding=1), relu()]
            channels = outputs
        pieces.append(nn.Sequential(*layers, nn.MaxPool2d(2)))
    side = image // 32
    return Network([*pieces, classifier(512 * side * side, (4096, 4096), classes, False)])


class Inception(nn.Module):
    """The activation of the four branches behind their concatenation, as in the zoo."""

    def __init__(self, inputs, one, reduce3, three, reduce5, five, projection):
        super().__init__()
        self.one = conv(inputs, one, 1)
        self.three = nn.Sequential(conv(inputs, reduce3, 1), relu(), conv(reduce3, three, 3, padding=1))
        self.five = nn.Sequential(conv(inputs, reduce5, 1), relu(), conv(reduce5, five, 5, padding=2))
        self.pool = nn.Sequential(nn.MaxPool2d(3, 1, 1), conv(inputs, projection, 1))
        self.channels = one + three + five + projection

    def forward(self, x):
        branches = [self.one(x), self.three(x), self.five(x), self.pool(x)]
        return nn.functional.relu_(torch.cat(branches, 1))


def googlenet(image, classes):
    def pool():
        return nn.MaxPool2d(3, 2, ceil_mode=True)

    def lrn():
        return nn.LocalResponseNorm(5, 1e-4, 0.75, 1.0)

    def aside(channels, side):
        side = after(side, 5, 3)
        return nn.Sequential(nn.AvgPool2d(5, 3), conv(channels, 128, 1), relu(), nn.Flatten(),
                             nn.Linear(128 * side * side, 1024), relu(), nn.Dropout(0.7),
                             nn.Linear(1024, classes))

    pieces = [
        nn.Sequential(conv(3, 64, 7, stride=2, padding=3), relu(), pool(), lrn()),
        nn.Sequential(conv(64, 64, 1), relu(), conv(64, 192, 3, padding=1), relu(), lrn(), pool())]
    channels, asides = 192, {}
    side = after(image, 7, 2, 3)
    for _ in range(3):
        side = after(side, 3, 2, ceil=True)  # behind pool3
    for name, widths in (("3a", (64, 96, 128, 16, 32, 32)), ("3b", (128, 128, 192, 32, 96, 64)),
                         ("4a", (192, 96, 208, 16, 48, 64)), ("4b", (160, 112, 224, 24, 64, 64)),
                         ("4c", (128, 128, 256, 24, 64, 64)), ("4d", (112, 144, 288, 32, 64, 64)),
                         ("4e", (256, 160, 320, 32, 128, 128)), ("5a", (256, 160, 320, 32, 128, 128)),
                         ("5b", (384, 192, 384, 48, 128, 128))):
        module = Inception(channels, *widths)
        channels = module.channels
        pieces.append(nn.Sequential(module, pool()) if name in ("3b", "4e") else module)
        if name in ("4a", "4d"):
            asides[len(pieces) - 1] = aside(channels, side)
    pieces.append(nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.4),
                                nn.Linear(channels, classes)))
    return Network(pieces, asides)


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride):
        super().__init__()
        outputs = 4 * width

        def normed(*args, **options):
            layer = conv(*args, bias=False, **options)
            return nn.Sequential(layer, nn.BatchNorm2d(layer.out_channels))

        self.shortcut = (normed(inputs, outputs, 1, stride=stride)
                         if inputs != outputs or stride != 1 else nn.Identity())
        self.body = nn.Sequential(normed(inputs, width, 1), relu(),
                                  normed(width, width, 3, stride=stride, padding=1), relu(),
                                  normed(width, outputs, 1))

    def forward(self, x):
        return nn.functional.relu_(self.body(x) + self.shortcut(x))


def resnet50(image, classes):
    del image  # any
    pieces = [nn.Sequential(conv(3, 64, 7, stride=2, padding=3, bias=False), nn.BatchNorm2d(64), relu(),
                            nn.MaxPool2d(3, 2, 1))]
    channels = 64
    for stage, blocks in enumerate((3, 4, 6, 3)):
        width = 64 << stage
        for block in range(blocks):
            pieces.append(Bottleneck(channels, width, 2 if stage > 0 and block == 0 else 1))
            channels = 4 * width
    pieces.append(nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes)))
    return Network(pieces)


class Entry:
    def __init__(self, build, image=224):
        self.build, self.image = build, image


NETWORKS = {"alexnet": Entry(alexnet), "overfeat": Entry(overfeat, 231), "googlenet": Entry(googlenet),
            "vgg-16": Entry(vgg16), "resnet-50": Entry(resnet50)}


def make(network, image, classes):
    return NETWORKS[network].build(image, classes)
