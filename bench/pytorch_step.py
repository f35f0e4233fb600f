"""Seconds of a VGG-16 training step in PyTorch: python3 pytorch_step.py BATCH STEPS THREADS."""
import statistics
import sys
import time

import torch
from torch import nn


def vgg16():
    layers, channels = [], 3
    for group in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(group[1]):
            layers += [nn.Conv2d(channels, group[0], 3, padding=1), nn.ReLU(inplace=True)]
            channels = group[0]
        layers.append(nn.MaxPool2d(2))
    head = [nn.Flatten(), nn.Linear(512 * 49, 4096), nn.ReLU(True), nn.Dropout(), nn.Linear(4096, 4096),
            nn.ReLU(True), nn.Dropout(), nn.Linear(4096, 1000)]
    return nn.Sequential(*layers, *head)


def main():
    batch, steps, threads = (int(word) for word in sys.argv[1:4])
    torch.set_num_threads(threads)
    model = vgg16()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    images, labels = torch.randn(batch, 3, 224, 224), torch.randint(0, 1000, (batch,))
    seconds = []
    for _ in range(steps + 1):
        begin = time.perf_counter()
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()
        seconds.append(time.perf_counter() - begin)
    print(f"PyTorch {torch.__version__}: {statistics.median(seconds[1:]):.3f} s a step "
          f"({min(seconds[1:]):.3f} to {max(seconds[1:]):.3f})")


main()
