#include "device/cuda/event_pool.h"

#include "device/cuda/call.h"

namespace vdnn::cuda {

EventPool::~EventPool() {
  for (const auto& events : events_) {
    for (const auto event : events.all) {
      if (runtime_.destroy_event(event) != 0) runtime_.clear_error();
    }
  }
}

Event EventPool::take(bool timed) {
  const std::lock_guard lock(mutex_);
  Events& events = events_[timed ? 1 : 0];
  if (events.taken == events.all.size()) {
    Event event = nullptr;
    check(runtime_, runtime_.create_event(&event, timed), "cudaEventCreateWithFlags");
    events.all.push_back(event);
  }
  return events.all[events.taken++];
}

void EventPool::give_back_all() {
  const std::lock_guard lock(mutex_);
  for (auto& events : events_) events.taken = 0;
}

}  // namespace vdnn::cuda
