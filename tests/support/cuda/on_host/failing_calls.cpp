#include <mutex>
#include <type_traits>

#include "support/cuda/on_host/stand_in_cuda.h"

namespace vdnn::testing {
namespace {

struct Calls {
  std::mutex mutex;
  std::map<std::string, std::int64_t> count;
  std::string failing;
  std::int64_t failing_call = 0;  // of all calls of that function

  bool fails(const char* function) {
    const std::lock_guard lock(mutex);
    return ++count[function] == failing_call && failing == function;
  }
};

Calls& calls() {
  static Calls all;
  return all;
}

// A function of the same type that counts and may fail before it calls the one that it stands before.
template <auto Member, class Status, class... Parameters>
struct Failable {
  static inline Status (*function)(Parameters...) = nullptr;
  static inline const char* name = nullptr;

  static Status call(Parameters... parameters) {
    if (!calls().fails(name)) return function(parameters...);
    if constexpr (std::is_same_v<Status, cudnnStatus_t>) return CUDNN_STATUS_INTERNAL_ERROR;
    if constexpr (std::is_same_v<Status, cublasStatus_t>) return CUBLAS_STATUS_INTERNAL_ERROR;
  }
};

template <auto Member, class Status, class... Parameters>
void put_before(Status (*&function)(Parameters...), const char* name) {
  if constexpr (std::is_same_v<Status, cudnnStatus_t> || std::is_same_v<Status, cublasStatus_t>) {
    using Before = Failable<Member, Status, Parameters...>;
    Before::function = function;
    Before::name = name;
    function = Before::call;
  }
}

}  // namespace

void make_failable(cuda::Api& api) {
#define VDNN_PUT_BEFORE(name) put_before<&cuda::Api::name>(api.name, #name);
  VDNN_CUDNN_FUNCTIONS(VDNN_PUT_BEFORE)
  VDNN_CUBLAS_FUNCTIONS(VDNN_PUT_BEFORE)
#undef VDNN_PUT_BEFORE
}

void fail_library_call(const std::string& function, std::int64_t n) {
  const std::lock_guard lock(calls().mutex);
  calls().failing = function;
  calls().failing_call = n == 0 ? 0 : calls().count[function] + n;
}

std::map<std::string, std::int64_t> library_calls() {
  const std::lock_guard lock(calls().mutex);
  return calls().count;
}

}  // namespace vdnn::testing
