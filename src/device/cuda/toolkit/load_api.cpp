#include <dlfcn.h>
#include <fmt/format.h>

#include <string>

#include "device/cuda/toolkit/api.h"
#include "vdnn/error.h"

namespace vdnn::cuda {
namespace {

// A library by the name that its programs link, where the system looks for it and then where it was when vdnn
// was built.
class Library {
 public:
  Library(std::string file, const char* folder) : file_(std::move(file)) {
    handle_ = dlopen(file_.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) return;
    const std::string why = dlerror();
    handle_ = dlopen(fmt::format("{}/{}", folder, file_).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) return;
    throw DeviceError(fmt::format(
        "device cuda needs {}: {}; install it, or put its folder into LD_LIBRARY_PATH", file_, why));
  }

  template <class Function>
  void find(Function& function, const char* name) const {
    function = reinterpret_cast<Function>(dlsym(handle_, name));
    if (function == nullptr)
      throw DeviceError(fmt::format("device cuda: {} has no {}: it is of another version", file_, name));
  }

 private:
  std::string file_;
  void* handle_ = nullptr;
};

}  // namespace

Api load_api() {
  Api api;
  const Library cudnn(fmt::format("libcudnn.so.{}", CUDNN_MAJOR), VDNN_CUDNN_FOLDER);
  const Library cublas(fmt::format("libcublasLt.so.{}", CUBLAS_VER_MAJOR), VDNN_CUBLAS_FOLDER);
#define VDNN_FIND(name) cudnn.find(api.name, #name);
  VDNN_CUDNN_FUNCTIONS(VDNN_FIND)
#undef VDNN_FIND
#define VDNN_FIND(name) cublas.find(api.name, #name);
  VDNN_CUBLAS_FUNCTIONS(VDNN_FIND)
#undef VDNN_FIND
  return api;
}

}  // namespace vdnn::cuda
