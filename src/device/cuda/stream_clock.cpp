#include "device/cuda/stream_clock.h"

#include <algorithm>
#include <utility>

#include "device/cuda/call.h"

namespace vdnn::cuda {
namespace {

double seconds_between(std::chrono::steady_clock::time_point begin,
                       std::chrono::steady_clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

}  // namespace

void StreamClock::begin(StreamKind kind, std::string_view name, Stream stream, Stream origin) {
  if (!measures_) return;
  if (origin_ == nullptr) {
    origin_ = events_.take(true);
    check(runtime_, runtime_.record_event(origin_, origin), "cudaEventRecord");
    origin_seconds_ = seconds_between(opened_, std::chrono::steady_clock::now());
  }
  Timed timed{.kind = kind, .name = std::string(name), .begin = events_.take(true)};
  if (kind == StreamKind::compute) timed.waited = std::exchange(waits_, false);
  check(runtime_, runtime_.record_event(timed.begin, stream), "cudaEventRecord");
  timed_.push_back(std::move(timed));
  open_ = true;
}

void StreamClock::end(Stream stream) {
  if (!open_) return;
  open_ = false;
  const Event event = events_.take(true);
  check(runtime_, runtime_.record_event(event, stream), "cudaEventRecord");
  timed_.back().end = event;
}

double StreamClock::seconds_from_origin(Event event) {
  float milliseconds = 0;
  check(runtime_, runtime_.elapsed_milliseconds(&milliseconds, origin_, event), "cudaEventElapsedTime");
  return origin_seconds_ + 1e-3 * static_cast<double>(milliseconds);
}

// What failed in between has no end, and is left out.
void StreamClock::collect() {
  double computed_until = origin_seconds_;
  const auto timed = std::exchange(timed_, {});
  const auto no_origin = [this] { origin_ = nullptr; };
  open_ = waits_ = false;
  try {
    for (const auto& one : timed) {
      if (one.end == nullptr) continue;
      const StreamSpan span{one.kind, one.name, seconds_from_origin(one.begin), seconds_from_origin(one.end)};
      if (one.kind == StreamKind::compute) {
        if (one.waited) times_.stall_seconds += std::max(0.0, span.begin_seconds - computed_until);
        computed_until = span.end_seconds;
      }
      count(span);
    }
  } catch (...) {
    no_origin();
    throw;
  }
  no_origin();
}

void StreamClock::add(StreamKind kind, std::chrono::steady_clock::time_point begin,
                      std::chrono::steady_clock::time_point end) {
  count(
      {kind, std::string(stream_name(kind)), seconds_between(opened_, begin), seconds_between(opened_, end)});
}

void StreamClock::count(const StreamSpan& span) {
  const double seconds = span.end_seconds - span.begin_seconds;
  if (span.stream == StreamKind::compute) {
    times_.kernel_seconds += seconds;
  } else {
    (is_offload(span.stream) ? times_.offload_seconds : times_.prefetch_seconds) += seconds;
  }
  spans_.push_back(span);
}

}  // namespace vdnn::cuda
