#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/file_bytes.h"
#include "support/temporary_directory.h"

namespace vdnn::testing {

struct Finished {
  int status = 0;  // 128 + signal where a signal ended it
  std::string out;
  std::string err;
};

// The vdnn program in a process of its own, with empty standard input, its output in files.
class Vdnn {
 public:
  explicit Vdnn(const std::vector<std::string>& arguments) {
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, out_path().c_str(), O_WRONLY | O_CREAT, 0600);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, err_path().c_str(), O_WRONLY | O_CREAT, 0600);
    std::vector<std::string> words = {VDNN_PROGRAM};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers;
    for (auto& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    const int error = posix_spawn(&process_, VDNN_PROGRAM, &files, nullptr, pointers.data(), environ);
    posix_spawn_file_actions_destroy(&files);
    if (error != 0) throw std::runtime_error("cannot start " VDNN_PROGRAM);
  }

  // Blocks until standard error holds `text`; false when the process ended without it.
  bool wait_for(const std::string& text) {
    while (read_file(err_path()).find(text) == std::string::npos) {
      if (waitpid(process_, &status_, WNOHANG) == process_) {
        ended_ = true;
        return false;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
  }

  void interrupt() const { kill(process_, SIGINT); }

  Finished finish() {
    if (!ended_) waitpid(process_, &status_, 0);
    return {.status = WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_),
            .out = read_file(out_path()),
            .err = read_file(err_path())};
  }

 private:
  [[nodiscard]] std::string out_path() const { return directory_.path() + "/out"; }
  [[nodiscard]] std::string err_path() const { return directory_.path() + "/err"; }

  TemporaryDirectory directory_;
  pid_t process_ = 0;
  int status_ = 0;
  bool ended_ = false;
};

inline Finished vdnn(const std::vector<std::string>& arguments) {
  return Vdnn(arguments).finish();
}

}  // namespace vdnn::testing
