#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cstddef>
#include <exception>
#include <stdexcept>
#include <thread>
#include <vector>

namespace vdnn::testing {

// A system call that fails with `error_number`: every one, or those with a bit of `mask` set in an argument.
struct RefusedCall {
  long number = 0;
  int error_number = 0;
  int argument = 0;
  unsigned mask = 0;
};

inline void refuse_for_this_thread(const std::vector<RefusedCall>& calls) {
  std::vector<sock_filter> filter;
  const auto add = [&](sock_filter instruction) { filter.push_back(instruction); };
  for (const RefusedCall& call : calls) {
    const bool by_argument = call.mask != 0;
    add(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
    const auto skipped = static_cast<unsigned char>(by_argument ? 3 : 1);
    add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call.number), 0, skipped));
    if (by_argument) {
      // The low half of the argument: every flag looked at is there.
      const auto at =
          static_cast<unsigned>(offsetof(seccomp_data, args) + 8U * static_cast<unsigned>(call.argument));
      add(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, at));
      add(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, call.mask, 0, 1));
    }
    add(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(call.error_number)));
  }
  add(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    throw std::runtime_error("this kernel refuses seccomp filters");
  }
}

// Runs `body` on a thread of its own on a system that lacks `calls`; the rest of the process keeps them.
template <typename Body>
void run_without(const std::vector<RefusedCall>& calls, Body body) {
  std::exception_ptr error;
  std::thread thread([&] {
    try {
      refuse_for_this_thread(calls);
      body();
    } catch (...) {
      error = std::current_exception();
    }
  });
  thread.join();
  if (error) std::rethrow_exception(error);
}

}  // namespace vdnn::testing
