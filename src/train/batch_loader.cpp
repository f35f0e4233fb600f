#include "train/batch_loader.h"

#include <algorithm>
#include <utility>

#include "base/cpu_count.h"
#include "base/parallel_for.h"

namespace vdnn {

BatchLoader::BatchLoader(std::shared_ptr<const Dataset> data, const ImageFormat& format, std::int64_t batch,
                         std::uint64_t seed, Store store, bool parallel)
    : data_(std::move(data)),
      format_(format),
      batch_(batch),
      seed_(seed),
      store_(std::move(store)),
      parallel_(parallel) {
  require_batch(*data_, batch);
  const std::int64_t pieces = parallel ? std::min<std::int64_t>(batch, usable_cpu_count()) : 1;
  const auto values = static_cast<std::size_t>(format.channels * format.height * format.width);
  pixels_.resize(static_cast<std::size_t>(pieces), std::vector<float>(values));
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
  const auto batch =
      std::span(order_).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(batch_));
  const auto load_piece = [&](std::size_t piece) {
    const std::size_t begin = batch.size() * piece / pixels_.size();
    const std::size_t end = batch.size() * (piece + 1) / pixels_.size();
    load_examples(batch.subspan(begin, end - begin), static_cast<std::int64_t>(begin), pixels_[piece]);
  };
  if (!parallel_) return load_piece(0);
  parallel_for(pixels_.size(), load_piece);
}

void BatchLoader::load_examples(std::span<const std::int64_t> indices, std::int64_t position,
                                std::span<float> pixels) {
  for (const auto index : indices) {
    data_->image(index, format_, pixels);
    store_(position++, pixels, data_->label(index));
  }
}

}  // namespace vdnn
