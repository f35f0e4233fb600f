#include "support/cuda/on_host/kernel_grid.h"

#include <ucontext.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

namespace vdnn::testing {
namespace {

constexpr std::size_t kStackBytes = 64 << 10;

[[noreturn]] void misuse(const char* what) {
  std::fprintf(stderr, "kernel on the host: %s\n", what);
  std::abort();
}

// A block whose threads take turns, each on a stack of its own.
class FiberBlock {
 public:
  // True where threads met.
  bool run(const Grid& grid) {
    code_ = &grid.code;
    met_ = false;
    if (fibers_.size() < grid.threads) fibers_.resize(grid.threads);
    for (unsigned i = 0; i < grid.threads; ++i) start(fibers_[i]);
    for (unsigned left = grid.threads; left > 0;) {
      left = 0;
      for (unsigned i = 0; i < grid.threads; ++i) {
        if (fibers_[i].done) continue;
        threadIdx.x = i;
        running_ = &fibers_[i];
        swapcontext(&scheduler_, &running_->context);
        left += running_->done ? 0 : 1;
      }
    }
    return met_;
  }

  void meet() {
    met_ = true;
    swapcontext(&running_->context, &scheduler_);
  }

 private:
  struct Fiber {
    ucontext_t context{};
    std::unique_ptr<std::byte[]> stack = std::make_unique<std::byte[]>(kStackBytes);
    bool done = false;
  };

  void start(Fiber& fiber) {
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = kStackBytes;
    fiber.context.uc_link = &scheduler_;
    fiber.done = false;
    makecontext(&fiber.context, &FiberBlock::enter, 0);
  }
  static void enter();

  const std::function<void()>* code_ = nullptr;
  bool met_ = false;
  Fiber* running_ = nullptr;
  ucontext_t scheduler_{};
  std::vector<Fiber> fibers_;
};

thread_local FiberBlock* block_in_turns = nullptr;

void FiberBlock::enter() {
  FiberBlock& block = *block_in_turns;
  (*block.code_)();
  block.running_->done = true;
}

// Kernels that a whole launch has shown not to meet: their threads need no stacks of their own.
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
  if (block_in_turns == nullptr) misuse("threads meet that did not when the kernel was launched before");
  block_in_turns->meet();
}

void run_grid(const Grid& grid) {
  const bool plain = plain_kernels.has(grid.kernel);
  bool met = false;
#pragma omp parallel for schedule(static) reduction(|| : met)
  for (unsigned b = 0; b < grid.blocks; ++b) met = run_block(grid, b, plain) || met;
  if (!plain && !met) plain_kernels.add(grid.kernel);
}

}  // namespace vdnn::testing
