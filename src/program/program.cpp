#include "vdnn/program.h"
#include "vdnn/stream.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>

#include "program/kernel_layout.h"

namespace vdnn {

std::string_view stream_name(StreamKind stream) {
  switch (stream) {
    case StreamKind::offload:
      return "offload";
    case StreamKind::prefetch:
      return "prefetch";
    case StreamKind::far_offload:
      return "far offload";
    case StreamKind::far_prefetch:
      return "far prefetch";
    case StreamKind::compute:
      break;
  }
  return "compute";
}
namespace {

std::string views_text(const Program& program, const std::vector<View>& views) {
  std::string text;
  for (const auto& view : views) {
    const auto& buffer = program.buffer(view.buffer);
    text += fmt::format("{}{}", text.empty() ? "" : ", ", buffer.name);
    if (view.bytes != buffer.bytes) text += fmt::format("[{}+{}]", view.offset_bytes, view.bytes);
  }
  return text;
}

}  // namespace

std::string to_text(const Program& program) {
  std::string text = fmt::format("program {} for {}\n", program.name, program.device);
  for (const auto& buffer : program.buffers) {
    text += fmt::format("buffer {} {} bytes={} align={}{}{}{}\n", buffer.name, role_name(buffer.role),
                        buffer.bytes, buffer.alignment_bytes, buffer.persistent ? " persistent" : "",
                        buffer.result ? " result" : "", buffer.saved_state ? " saved" : "");
  }
  for (const auto& kernel : program.kernels) {
    text +=
        fmt::format("{} {} {} ({}) -> ({}) {}", phase_name(kernel.phase), kernel.op, kernel.name,
                    views_text(program, kernel.reads), views_text(program, kernel.writes), kernel.signature);
    for (const auto& candidate : kernel.candidates) {
      text += fmt::format(" {}/{}:{}", candidate.algorithm, candidate.slices, candidate.workspace_bytes);
    }
    text += '\n';
  }
  return text;
}

std::uint64_t fingerprint(const Program& program) {
  const std::string text = to_text(program);
  return XXH3_64bits(text.data(), text.size());
}

std::int64_t working_set_bytes(const Program& program, const Kernel& kernel, const Candidate& candidate) {
  return lay_out_alone(program, kernel, candidate).bytes;
}

std::int64_t largest_workspace_bytes(const Program& program, const std::vector<int>& assignment) {
  std::int64_t largest = 0;
  for (std::size_t k = 0; k < program.kernels.size(); ++k) {
    const auto& candidate = program.kernels[k].candidates.at(static_cast<std::size_t>(assignment[k]));
    largest = std::max(largest, candidate.workspace_bytes);
  }
  return largest;
}

std::int64_t network_wide_bytes(const Program& program, const std::vector<int>& assignment) {
  return program.network_wide.total_bytes() + largest_workspace_bytes(program, assignment);
}

double unused_share(const Program& program, const std::vector<int>& assignment) {
  return 1 - static_cast<double>(program.network_wide.largest_layer_bytes) /
                 static_cast<double>(network_wide_bytes(program, assignment));
}

}  // namespace vdnn
