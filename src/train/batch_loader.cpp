#include "train/batch_loader.h"

#include <utility>

namespace vdnn {

BatchLoader::BatchLoader(std::shared_ptr<const Dataset> data, const ImageFormat& format, std::int64_t batch,
                         std::uint64_t seed, Store store)
    : data_(std::move(data)), format_(format), batch_(batch), seed_(seed), store_(std::move(store)) {
  require_batch(*data_, batch);
  pixels_.resize(static_cast<std::size_t>(format.channels * format.height * format.width));
  thread_ = std::thread([this] { run(); });
}

BatchLoader::~BatchLoader() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void BatchLoader::start(std::int64_t step, std::function<void()> when_free) {
  const std::lock_guard lock(mutex_);
  step_ = step;
  when_free_ = std::move(when_free);
  wanted_ = true;
  changed_.notify_all();
}

void BatchLoader::finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !wanted_; });
  if (error_) std::rethrow_exception(error_);
}

void BatchLoader::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stopping_ || wanted_; });
    if (!wanted_) return;
    lock.unlock();
    std::exception_ptr error;
    try {
      if (when_free_) when_free_();
      load(step_);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    error_ = error;
    wanted_ = false;
    changed_.notify_all();
  }
}

void BatchLoader::load(std::int64_t step) {
  const std::int64_t epoch = step / steps_per_epoch();
  if (epoch != epoch_) {
    order_ = shuffled_indices(data_->size(), seed_, epoch);
    epoch_ = epoch;
  }
  const std::int64_t first = step % steps_per_epoch() * batch_;
  for (std::int64_t i = 0; i < batch_; ++i) {
    const std::int64_t index = order_[static_cast<std::size_t>(first + i)];
    data_->image(index, format_, pixels_);
    store_(i, pixels_, data_->label(index));
  }
}

}  // namespace vdnn
