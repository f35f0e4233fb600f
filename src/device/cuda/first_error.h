#pragma once

#include <atomic>
#include <exception>
#include <mutex>
#include <utility>

namespace vdnn::cuda {

// The first error of work on several threads. Thread-safe.
class FirstError {
 public:
  void keep(std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
    failed_ = true;
  }
  // True from the first error until it is thrown: what is still to be done is skipped.
  [[nodiscard]] bool failed() const { return failed_; }

  void rethrow() {
    std::exception_ptr error;
    {
      const std::lock_guard lock(mutex_);
      error = std::exchange(error_, nullptr);
      failed_ = false;
    }
    if (error) std::rethrow_exception(error);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr error_;
  std::atomic<bool> failed_ = false;
};

}  // namespace vdnn::cuda
