#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace vdnn::cli {

// Progress of something slow, on standard error: a bar that is redrawn on a terminal, else a line when
// something has changed and two seconds have passed since the last.
class Progress {
 public:
  explicit Progress(std::string what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(std::int64_t done, std::int64_t total, const std::string& details);

  // Seconds that the rest will take at the pace so far.
  [[nodiscard]] double seconds_left(std::int64_t done, std::int64_t total) const;

 private:
  std::string what_;
  bool terminal_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_{};
};

// "3:07" or "1:02:07".
std::string clock_text(double seconds);

}  // namespace vdnn::cli
