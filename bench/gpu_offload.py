"""Saved tensors out to pinned host memory and back, beside the computation, by PyTorch's own means (2.1 or later)."""

import collections
import contextlib

import torch
from torch.multiprocessing.reductions import StorageWeakRef


class Entry:
    """A tensor that was saved: on its way out, in host memory, or on its way back."""

    def __init__(self, tensor):
        self.tensor = tensor  # held until it has left, and again once it is back
        self.storage = StorageWeakRef(tensor.untyped_storage())
        self.shape, self.dtype, self.bytes = tensor.shape, tensor.dtype, tensor.numel() * tensor.element_size()
        self.uses = 1
        self.host = None  # the buffer, as bytes
        self.left = self.back = None  # events

    def in_host(self):
        return self.host.view(self.dtype).view(self.shape)


class TwoStreamOffload:
    """saved_tensors_hooks that copy on two side streams.

    Memory is given back in the order of the computation: the compute stream waits for a copy out before the
    tensor is let go, `window` tensors later, so that the allocator may reuse it at once. Coming back, tensors
    are fetched up to `window` ahead of the one that is asked for. Tensors below 64 KiB and weights stay.
    """

    LEAST_BYTES = 64 * 1024

    def __init__(self, model, device, window=3):
        self.device, self.window = device, window
        self.cuda = device.type == "cuda"
        self.out = torch.cuda.Stream(device) if self.cuda else None
        self.into = torch.cuda.Stream(device) if self.cuda else None
        self.weights = {p.untyped_storage().data_ptr() for p in model.parameters()}
        self.buffers = collections.defaultdict(list)  # pinned and free, by bytes
        self.forget()

    def forget(self):
        self.entries, self.known, self.leaving = [], {}, collections.deque()

    @contextlib.contextmanager
    def step(self):
        """Around a forward pass; the last step's backward pass is over."""
        for entry in self.entries:
            self.give_back(entry)
        self.forget()
        if self.cuda:
            self.out.wait_stream(self.into)  # which still reads host memory that is about to be reused
        with torch.autograd.graph.saved_tensors_hooks(self.pack, self.unpack):
            yield
        while self.leaving:
            self.let_go()

    def pack(self, tensor):
        is_small = tensor.numel() * tensor.element_size() < self.LEAST_BYTES
        if tensor.device.type != self.device.type or is_small or self.is_weight(tensor):
            return tensor
        # One layer's output is the next one's input: saved twice, copied once.
        key = (tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype, tensor._version)
        entry = self.known.get(key)
        if entry is not None and not entry.storage.expired():
            entry.uses += 1
            return entry
        entry = self.known[key] = Entry(tensor.detach())
        self.entries.append(entry)
        entry.number = len(self.entries) - 1
        self.copy_out(entry)
        self.leaving.append(entry)
        if len(self.leaving) > self.window:
            self.let_go()
        return entry

    def is_weight(self, tensor):
        return tensor.untyped_storage().data_ptr() in self.weights

    def copy_out(self, entry):
        free = self.buffers[entry.bytes]
        entry.host = free.pop() if free else torch.empty(entry.bytes, dtype=torch.uint8, pin_memory=self.cuda)
        if not self.cuda:
            entry.in_host().copy_(entry.tensor)
            return
        self.out.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(self.out):
            entry.in_host().copy_(entry.tensor, non_blocking=True)
            entry.left = self.out.record_event()

    def let_go(self):
        entry = self.leaving.popleft()
        if self.cuda:
            torch.cuda.current_stream(self.device).wait_event(entry.left)
        entry.tensor = None

    def unpack(self, packed):
        if isinstance(packed, torch.Tensor):
            return packed
        for entry in self.entries[max(0, packed.number - self.window): packed.number + 1][::-1]:
            if entry.uses > 0 and entry.tensor is None:
                self.fetch(entry)
        tensor = packed.tensor
        if packed.back is not None:
            torch.cuda.current_stream(self.device).wait_event(packed.back)
        packed.uses -= 1
        if packed.uses == 0:
            packed.tensor = None  # autograd has it now
        return tensor

    def fetch(self, entry):
        # Of the compute stream's memory, whose last use may still lie before it there.
        entry.tensor = torch.empty(entry.shape, dtype=entry.dtype, device=self.device)
        if not self.cuda:
            entry.tensor.copy_(entry.in_host())
            return
        self.into.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(self.into):
            entry.tensor.copy_(entry.in_host(), non_blocking=True)
            entry.back = self.into.record_event()

    def give_back(self, entry):
        entry.tensor = None
        if entry.host is not None:
            self.buffers[entry.host.numel()].append(entry.host)
            entry.host = None
