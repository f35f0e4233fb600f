#!/usr/bin/env python3
"""Training steps of a network in PyTorch, beside vdnn's: a JSON line for each way to save memory.

  bench/gpu_pytorch.py NETWORK BATCH [--steps 5] [--warmup 2] [--variants plain,save_on_cpu,...] [--tf32]

NETWORK: alexnet, overfeat, googlenet, vgg-16, resnet-50, with the layers of vdnn's zoo. float32, SGD with
momentum, cuDNN's autotuning among its deterministic algorithms, one synthetic batch that stays on the device.

  plain         nothing saved
  save_on_cpu   torch.autograd.graph.save_on_cpu(pin_memory=True)
  checkpoint    torch.utils.checkpoint around each piece of the network
  two_streams   saved tensors leave on one side stream and come back, ahead of their use, on another
"""

import argparse
import contextlib
import gc
import json
import statistics
import time

import torch
from torch.utils.checkpoint import checkpoint

from gpu_networks import NETWORKS, make
from gpu_offload import TwoStreamOffload

VARIANTS = ("plain", "save_on_cpu", "checkpoint", "two_streams")


class Step:
    """One way to train one batch."""

    def __init__(self, model, images, labels, variant):
        self.model, self.images, self.labels, self.variant = model, images, labels, variant
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.001, momentum=0.9)
        self.offload = TwoStreamOffload(model, images.device) if variant == "two_streams" else None

    def saving(self):
        if self.variant == "save_on_cpu":
            return torch.autograd.graph.save_on_cpu(pin_memory=self.images.is_cuda)
        return self.offload.step() if self.offload else contextlib.nullcontext()

    def run(self):
        self.optimizer.zero_grad(set_to_none=True)
        run_piece = None
        if self.variant == "checkpoint":
            run_piece = lambda piece, x: checkpoint(piece, x, use_reentrant=False)  # noqa: E731
        with self.saving():
            loss = self.model.loss(self.images, self.labels, run_piece)
        loss.backward()
        self.optimizer.step()
        return loss


def synchronize(device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def timed_steps(step, device, options):
    """Seconds of each step behind the warm-up ones; fewer where the time is up."""
    deadline = time.perf_counter() + options.seconds
    for _ in range(options.warmup):
        loss = step.run()
    synchronize(device)
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    seconds = []
    while len(seconds) < options.steps and (not seconds or time.perf_counter() < deadline):
        begin = time.perf_counter()
        loss = step.run()
        synchronize(device)
        seconds.append(time.perf_counter() - begin)
    return seconds, float(loss)


def measure(variant, options, device):
    row = {"network": options.network, "batch": options.batch, "image": options.image, "variant": variant,
           "torch": torch.__version__, "device": str(device), "tf32": options.tf32}
    torch.manual_seed(1)
    try:
        model = make(options.network, options.image, options.classes).to(device)
        images = torch.randn(options.batch, 3, options.image, options.image, device=device)
        labels = torch.randint(0, options.classes, (options.batch,), device=device)
        row["parameters"] = sum(p.numel() for p in model.parameters())
        seconds, loss = timed_steps(Step(model, images, labels, variant), device, options)
    except RuntimeError as error:  # the next variant may fit, or be right
        row["error"] = f"{type(error).__name__}: {error}".splitlines()[0]
        return row
    row.update({"steps": len(seconds), "step_seconds": seconds, "loss": loss,
                "median_step_seconds": statistics.median(seconds)})
    if device.type == "cuda":
        row["peak_bytes"] = torch.cuda.max_memory_allocated(device)
        row["reserved_bytes"] = torch.cuda.max_memory_reserved(device)
        row["gpu"] = torch.cuda.get_device_name(device)
    return row


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network", choices=sorted(NETWORKS))
    parser.add_argument("batch", type=int)
    parser.add_argument("--image", type=int, help="height and width (default the network's own)")
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--variants", default=",".join(VARIANTS))
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--warmup", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=15, help="of each variant, after which it ends early")
    parser.add_argument("--tf32", action="store_true")
    parser.add_argument("--quick", action="store_true", help="small images, two steps")
    options = parser.parse_args()
    options.variants = options.variants.split(",")
    for variant in options.variants:
        if variant not in VARIANTS:
            parser.error(f"unknown variant '{variant}'; known: {', '.join(VARIANTS)}")
    if options.quick:
        options.image = options.image or 96
        options.steps, options.warmup = 2, 1
    options.image = options.image or NETWORKS[options.network].image
    return options


def main():
    options = parse()
    device = torch.device(options.device)
    torch.backends.cuda.matmul.allow_tf32 = options.tf32
    torch.backends.cudnn.allow_tf32 = options.tf32
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.deterministic = True
    for variant in options.variants:
        print(json.dumps(measure(variant, options, device)), flush=True)
        gc.collect()
        if device.type == "cuda":
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
