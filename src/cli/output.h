#pragma once

#include <fmt/format.h>

#include <cstdio>

namespace vdnn::cli {

// Text for people. A stream that is full or closed must not end a training; what is lost on standard output
// shows in the exit code.
template <class... Args>
void tell(FILE* to, fmt::format_string<Args...> text, Args&&... args) {
  const std::string line = fmt::format(text, std::forward<Args>(args)...);
  std::fputs(line.c_str(), to);
}

inline std::string seconds_text(double seconds) {
  return seconds < 1 ? fmt::format("{:.1f} ms", 1e3 * seconds) : fmt::format("{:.2f} s", seconds);
}

// On standard error.
template <class... Args>
void say(fmt::format_string<Args...> text, Args&&... args) {
  tell(stderr, text, std::forward<Args>(args)...);
}

}  // namespace vdnn::cli
