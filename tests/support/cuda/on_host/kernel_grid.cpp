#include "support/cuda/on_host/kernel_grid.h"

#include <ucontext.h>

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "support/cuda/on_host/stand_in_cuda.h"

namespace vdnn::testing {
namespace {

constexpr std::size_t kStackBytes = 64 << 10;

// A block whose threads take turns, each on a stack of its own that is kept for the next block. Contexts are
// only made by ucontext: switching by it would be two calls of the kernel each time.
class FiberBlock {
 public:
  // True where threads met.
  bool run(const Grid& grid) {
    code_ = &grid.code;
    met_ = false;
    while (fibers_.size() < grid.threads) fibers_.push_back(std::make_unique<Fiber>());
    for (unsigned i = 0; i < grid.threads; ++i) fibers_[i]->done = false;
    for (unsigned left = grid.threads; left > 0;) {
      left = 0;
      for (unsigned i = 0; i < grid.threads; ++i) {
        if (fibers_[i]->done) continue;
        threadIdx.x = i;
        resume(*fibers_[i]);
        left += fibers_[i]->done ? 0 : 1;
      }
    }
    return met_;
  }

  void meet() {
    met_ = true;
    pause();
  }

 private:
  struct Fiber {
    std::unique_ptr<std::byte[]> stack = std::make_unique<std::byte[]>(kStackBytes);
    bool begun = false;
    bool done = false;
    jmp_buf at{};
  };

  void resume(Fiber& fiber) {
    running_ = &fiber;
    if (_setjmp(scheduler_) != 0) return;
    if (fiber.begun) _longjmp(fiber.at, 1);
    fiber.begun = true;
    ucontext_t context;
    getcontext(&context);
    context.uc_stack.ss_sp = fiber.stack.get();
    context.uc_stack.ss_size = kStackBytes;
    makecontext(&context, &FiberBlock::enter, 0);
    setcontext(&context);
  }
  void pause() {
    if (_setjmp(running_->at) == 0) _longjmp(scheduler_, 1);
  }
  static void enter();

  const std::function<void()>* code_ = nullptr;
  bool met_ = false;
  Fiber* running_ = nullptr;
  jmp_buf scheduler_{};
  std::vector<std::unique_ptr<Fiber>> fibers_;
};

thread_local FiberBlock* block_in_turns = nullptr;

void FiberBlock::enter() {
  FiberBlock& block = *block_in_turns;  // a fiber stays on its thread
  while (true) {
    (*block.code_)();
    block.running_->done = true;
    block.pause();
  }
}

// Kernels whose first block has shown that its threads do not meet: they need no stacks of their own.
class PlainKernels {
 public:
  bool has(const void* kernel) {
    const std::lock_guard lock(mutex_);
    return kernels_.contains(kernel);
  }
  void add(const void* kernel) {
    const std::lock_guard lock(mutex_);
    kernels_.insert(kernel);
  }

 private:
  std::mutex mutex_;
  std::set<const void*> kernels_;
};

PlainKernels plain_kernels;

bool run_block(const Grid& grid, unsigned index, bool plain) {
  blockIdx.x = index;
  blockDim.x = grid.threads;
  gridDim.x = grid.blocks;
  if (plain) {
    for (threadIdx.x = 0; threadIdx.x < grid.threads; ++threadIdx.x) grid.code();
    return false;
  }
  thread_local FiberBlock block;
  block_in_turns = &block;
  const bool met = block.run(grid);
  block_in_turns = nullptr;
  return met;
}

}  // namespace

void meet_block() {
  if (block_in_turns == nullptr)
    misuse("a kernel: threads meet that did not in the first block of the kernel");
  block_in_turns->meet();
}

void run_grid(const Grid& grid) {
  bool plain = plain_kernels.has(grid.kernel);
  unsigned first = 0;
  if (!plain) {
    plain = !run_block(grid, first++, false);
    if (plain) plain_kernels.add(grid.kernel);
  }
#pragma omp parallel for schedule(static)
  for (unsigned b = first; b < grid.blocks; ++b) run_block(grid, b, plain);
}

}  // namespace vdnn::testing
