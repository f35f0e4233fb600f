#pragma once

#include <array>
#include <mutex>
#include <vector>

#include "device/cuda/runtime.h"

namespace vdnn::cuda {

// Events to take, each for one recording, and to be given back all at once when every stream is idle.
// Thread-safe.
class EventPool {
 public:
  explicit EventPool(Runtime& runtime) : runtime_(runtime) {}
  ~EventPool();
  EventPool(const EventPool&) = delete;
  EventPool& operator=(const EventPool&) = delete;

  // Throws DeviceError where the library has no more.
  Event take(bool timed);
  void give_back_all();

 private:
  struct Events {
    std::vector<Event> all;
    std::size_t taken = 0;
  };

  Runtime& runtime_;
  std::mutex mutex_;
  std::array<Events, 2> events_;  // without and with timing
};

}  // namespace vdnn::cuda
