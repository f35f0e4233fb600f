#include "cli/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "cli/output.h"

namespace vdnn::cli {
namespace {

constexpr std::chrono::seconds kQuiet{2};

std::size_t terminal_width() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

}  // namespace

std::string clock_text(double seconds) {
  const std::int64_t whole = std::llround(seconds);
  if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

Progress::Progress(std::string what) : what_(std::move(what)), terminal_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (drawn_) say("\n");
}

double Progress::seconds_left(std::int64_t done, std::int64_t total) const {
  if (done == 0) return 0;
  const double so_far = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  return so_far / static_cast<double>(done) * static_cast<double>(total - done);
}

void Progress::show(std::int64_t done, std::int64_t total, const std::string& details) {
  const auto now = std::chrono::steady_clock::now();
  if (!terminal_) {
    if (now - last_ < kQuiet && done != total) return;
    last_ = now;
    say("{} {}\n", what_, details);
    return;
  }
  constexpr std::size_t kBar = 20;
  const auto filled = total > 0 ? kBar * static_cast<std::size_t>(done) / static_cast<std::size_t>(total) : 0;
  std::string line =
      fmt::format("{} [{}{}] {}", what_, std::string(filled, '#'), std::string(kBar - filled, '.'), details);
  line.resize(std::min(line.size(), terminal_width() - 1));
  say("\r\033[K{}", line);
  drawn_ = done != total;
  if (!drawn_) say("\n");
  std::fflush(stderr);
}

}  // namespace vdnn::cli
