#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "vdnn/dataset.h"

namespace vdnn {

// Prepares batches on a thread of its own, one ahead of training, straight into the staging buffers; on as
// many threads as there are processors where those have nothing else to do.
class BatchLoader {
 public:
  // Stores example `position` of the batch: its pixels and label. Called from several threads where
  // `parallel`.
  using Store = std::function<void(std::int64_t position, std::span<const float> pixels, std::int32_t label)>;

  BatchLoader(std::shared_ptr<const Dataset> data, const ImageFormat& format, std::int64_t batch,
              std::uint64_t seed, Store store, bool parallel = false);
  ~BatchLoader();
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;

  // Starts to prepare the batch of a step; `when_free` blocks until the staging buffers may be written.
  void start(std::int64_t step, std::function<void()> when_free);

  // Waits for what start() began; throws what went wrong.
  void finish();

  [[nodiscard]] std::int64_t steps_per_epoch() const { return data_->size() / batch_; }

 private:
  void run();
  void load(std::int64_t step);
  void load_examples(std::span<const std::int64_t> indices, std::int64_t position, std::span<float> pixels);

  std::shared_ptr<const Dataset> data_;
  ImageFormat format_;
  std::int64_t batch_;
  std::uint64_t seed_;
  Store store_;
  bool parallel_;
  std::vector<std::int64_t> order_;  // of the current epoch
  std::int64_t epoch_ = -1;
  std::vector<std::vector<float>> pixels_;  // by piece of the batch

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> when_free_;
  std::int64_t step_ = 0;
  bool wanted_ = false;
  bool stopping_ = false;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace vdnn
