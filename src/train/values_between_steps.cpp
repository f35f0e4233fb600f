#include "train/values_between_steps.h"

namespace vdnn {

void ValuesBetweenSteps::write(BufferId buffer, std::int64_t first, std::span<const float> values) {
  const auto place = executor_.place_between_steps(buffer);
  if (!place.tier) return context_.write_values(buffer, place.offset_bytes, first, values);
  // Written from its begin to its end: what the tier had before does not matter.
  stage(buffer, place, first > 0);
  context_.write_values(buffer, staged_bytes(), first, values);
  written_ = true;
}

void ValuesBetweenSteps::read(BufferId buffer, std::int64_t first, std::span<float> values) {
  const auto place = executor_.place_between_steps(buffer);
  if (!place.tier) return context_.read_values(buffer, place.offset_bytes, first, values);
  stage(buffer, place, true);
  context_.read_values(buffer, std::span<const std::byte>(staged_bytes()), first, values);
}

void ValuesBetweenSteps::finish() {
  if (written_) tiers_.at(*place_.tier)->write(place_.offset_bytes, staged_bytes());
  written_ = false;
  staged_ = {};
  memory_.reset();
}

void ValuesBetweenSteps::stage(BufferId buffer, const Executor::Place& place, bool read) {
  if (staged_ == buffer) return;
  finish();
  const std::int64_t bytes = program_.buffer(buffer).placed_bytes();
  memory_.emplace(bytes, bytes);
  staged_ = buffer;
  place_ = place;
  if (read) tiers_.at(*place_.tier)->read(place_.offset_bytes, staged_bytes());
}

std::span<std::byte> ValuesBetweenSteps::staged_bytes() const {
  return {memory_->data(), static_cast<std::size_t>(program_.buffer(staged_).placed_bytes())};
}

}  // namespace vdnn
