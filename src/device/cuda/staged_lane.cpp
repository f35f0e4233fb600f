#include "device/cuda/staged_lane.h"

#include <fmt/format.h>

#include <algorithm>

#include "device/cuda/call.h"
#include "vdnn/error.h"

namespace vdnn::cuda {

StagedLane::StagedLane(const Options& options)
    : options_(options),
      out_(is_offload(options.kind)),
      memory_(options.runtime, static_cast<std::int64_t>(kSlots) * kSlotBytes),
      slot_events_(options.runtime) {
  for (std::size_t s = 0; s < kSlots; ++s) {
    slots_[s].memory = memory_.data() + static_cast<std::int64_t>(s) * kSlotBytes;
    slots_[s].copied = slot_events_.take(false);
  }
  thread_ = std::thread([this] { run(); });
}

StagedLane::~StagedLane() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void StagedLane::push(Task task) {
  tasks_.push_back(task);
  changed_.notify_all();
}

void StagedLane::copy(std::byte* device, std::int64_t bytes, Tier& tier, std::int64_t tier_offset_bytes) {
  const std::lock_guard lock(mutex_);
  push(Copy{device, bytes, &tier, tier_offset_bytes, measures_});
}

void StagedLane::wait(const Recording& recording) {
  const std::lock_guard lock(mutex_);
  push(recording);
}

std::uint32_t StagedLane::record() {
  const std::lock_guard lock(mutex_);
  push(Signal{++tickets_});
  return tickets_;
}

void StagedLane::wait_on_host(std::uint32_t ticket) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return static_cast<std::int32_t>(passed_ - ticket) >= 0; });
}

void StagedLane::drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return tasks_.empty() && !busy_; });
}

void StagedLane::measure(bool on) {
  const std::lock_guard lock(mutex_);
  measures_ = on;
}

std::vector<StagedLane::Busy> StagedLane::take_busy() {
  const std::lock_guard lock(mutex_);
  return std::exchange(spans_, {});
}

// While there is nothing to issue, what was issued is seen to its end.
std::optional<StagedLane::Task> StagedLane::next_task() {
  std::unique_lock lock(mutex_);
  while (tasks_.empty()) {
    if (!issued_.empty()) {
      lock.unlock();
      retire_oldest();
      lock.lock();
      continue;
    }
    busy_ = false;
    changed_.notify_all();
    if (stopping_) return {};
    changed_.wait(lock);
  }
  busy_ = true;
  Task task = tasks_.front();
  tasks_.pop_front();
  return task;
}

void StagedLane::run() {
  attempt([&] { check(options_.runtime, options_.runtime.use_device(), "cudaSetDevice"); });
  while (const auto task = next_task()) perform(*task);
}

void StagedLane::perform(const Task& task) {
  if (const auto* copy = std::get_if<Copy>(&task)) return perform(*copy);
  if (const auto* recording = std::get_if<Recording>(&task)) return perform_wait(*recording);
  const std::uint32_t ticket = std::get<Signal>(task).ticket;
  // What is on the device when its stream has passed is all there is to a copy in.
  if (!out_) write_ticket(options_.stream, ticket);
  issued_.emplace_back(Signal{ticket});
}

template <class Work>
void StagedLane::attempt(const Work& work) {
  if (options_.error.failed()) return;
  try {
    work();
  } catch (...) {
    options_.error.keep(std::current_exception());
  }
}

void StagedLane::perform(const Copy& copy) {
  const auto begin = Clock::now();
  for (std::int64_t at = 0; at < copy.bytes; at += kSlotBytes) {
    attempt([&] { issue_piece(copy, at, std::min(kSlotBytes, copy.bytes - at)); });
  }
  if (copy.measured) issued_.emplace_back(CopyEnd{begin});
}

void StagedLane::issue_piece(const Copy& copy, std::int64_t at, std::int64_t bytes) {
  Runtime& runtime = options_.runtime;
  Slot& slot = free_slot();
  const auto count = static_cast<std::size_t>(bytes);
  if (out_) {
    check(runtime,
          runtime.copy_async(slot.memory, copy.device + at, count, CopyKind::to_host, options_.stream),
          "cudaMemcpyAsync to the host");
  } else {
    copy.tier->read(copy.tier_offset_bytes + at, {slot.memory, count});
    check(runtime,
          runtime.copy_async(copy.device + at, slot.memory, count, CopyKind::to_device, options_.stream),
          "cudaMemcpyAsync to the device");
  }
  // From here on the device may use the slot until its stream has passed this.
  slot.in_use = true;
  issued_.emplace_back(Piece{&slot, bytes, copy.tier, copy.tier_offset_bytes + at, at == 0});
  check(runtime, runtime.record_event(slot.copied, options_.stream), "cudaEventRecord");
}

StagedLane::Slot& StagedLane::free_slot() {
  Slot& slot = slots_[next_slot_];
  next_slot_ = (next_slot_ + 1) % kSlots;
  while (slot.in_use) retire_oldest();
  return slot;
}

void StagedLane::retire_oldest() {
  const Issued oldest = issued_.front();
  issued_.pop_front();
  if (const auto* piece = std::get_if<Piece>(&oldest)) return retire(*piece);
  // The lane's own stream may be waiting for somebody who waits for this.
  if (const auto* signal = std::get_if<Signal>(&oldest); signal != nullptr && out_)
    write_ticket(options_.signals, signal->ticket);
  const std::lock_guard lock(mutex_);
  if (const auto* copy = std::get_if<CopyEnd>(&oldest)) {
    spans_.push_back({out_ ? writing_since_ : copy->begin, Clock::now()});
  } else {
    passed_ = std::get<Signal>(oldest).ticket;
    changed_.notify_all();
  }
}

void StagedLane::retire(const Piece& piece) {
  Runtime& runtime = options_.runtime;
  // After an error, too: the device may still be using the slot.
  const Status status = runtime.synchronize_event(piece.slot->copied);
  if (piece.first) writing_since_ = Clock::now();
  attempt([&] {
    check(runtime, status, "cudaEventSynchronize");
    if (out_)
      piece.tier->write(piece.tier_offset_bytes, {piece.slot->memory, static_cast<std::size_t>(piece.bytes)});
  });
  if (status != 0) runtime.clear_error();
  piece.slot->in_use = false;
}

void StagedLane::perform_wait(const Recording& recording) {
  if (recording.lane == this) return;
  if (recording.lane != nullptr) return recording.lane->wait_on_host(recording.ticket);
  Runtime& runtime = options_.runtime;
  attempt([&] {
    out_ ? check(runtime, runtime.wait_event(options_.stream, recording.event), "cudaStreamWaitEvent")
         : check(runtime, runtime.synchronize_event(recording.event), "cudaEventSynchronize");
  });
}

// Whatever has failed, nobody may wait for ever: where the stream cannot write the ticket, a copy does.
void StagedLane::write_ticket(Stream stream, std::uint32_t ticket) {
  Runtime& runtime = options_.runtime;
  const Status status = runtime.write_value(stream, options_.counter, ticket);
  if (status == 0) return;
  attempt([&] { check(runtime, status, "cuStreamWriteValue32"); });
  runtime.clear_error();
  const bool copied =
      runtime.copy_async(options_.counter, &ticket, sizeof ticket, CopyKind::to_device, stream) == 0 &&
      runtime.synchronize_stream(stream) == 0;
  if (!copied) runtime.clear_error();
}

}  // namespace vdnn::cuda
