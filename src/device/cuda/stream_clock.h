#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/cuda/event_pool.h"
#include "vdnn/device.h"

namespace vdnn::cuda {

// When work on the streams that are issued to directly ran, from timed events around it: looked at only when
// the streams are idle.
class StreamClock {
 public:
  StreamClock(Runtime& runtime, EventPool& events) : runtime_(runtime), events_(events) {}

  void measure(bool on) { measures_ = on; }
  [[nodiscard]] bool measures() const { return measures_; }

  // Around a piece of work; nothing where it is not measured. `origin` is the stream that the first moment is
  // taken on.
  void begin(StreamKind kind, std::string_view name, Stream stream, Stream origin);
  void end(Stream stream);
  // The next work on the compute stream has something to wait for.
  void waits() { waits_ = true; }

  // With all streams idle: turns events into times.
  void collect();
  // Of a copy that the host timed.
  void add(StreamKind kind, std::chrono::steady_clock::time_point begin,
           std::chrono::steady_clock::time_point end);

  [[nodiscard]] const StreamTimes& times() const { return times_; }
  std::vector<StreamSpan> take_spans() { return std::exchange(spans_, {}); }

 private:
  struct Timed {
    StreamKind kind = StreamKind::compute;
    std::string name;
    Event begin = nullptr;
    Event end = nullptr;
    bool waited = false;
  };

  [[nodiscard]] double seconds_from_origin(Event event);
  void count(const StreamSpan& span);

  Runtime& runtime_;
  EventPool& events_;
  bool measures_ = false;
  bool waits_ = false;
  Event origin_ = nullptr;
  double origin_seconds_ = 0;
  std::vector<Timed> timed_;
  bool open_ = false;  // the last one of timed_ has no end yet
  StreamTimes times_;
  std::vector<StreamSpan> spans_;
  std::chrono::steady_clock::time_point opened_ = std::chrono::steady_clock::now();
};

}  // namespace vdnn::cuda
