# Every dependency of vdnn is found here, as Debian 12 packages provide it; what an installed static vdnn
# needs is repeated in vdnnConfig.cmake.in.
find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(fmt 9 REQUIRED)                       # libfmt-dev
find_package(nlohmann_json 3.11 REQUIRED)          # nlohmann-json3-dev
find_package(CLI11 2.1 REQUIRED)                   # libcli11-dev
find_package(dnnl 2.6 CONFIG QUIET)                # libdnnl-dev, ocl-icd-opencl-dev
if(NOT dnnl_FOUND)
  find_package(dnnl 3 CONFIG REQUIRED)
endif()
find_package(ZLIB 1.2 REQUIRED)                    # zlib1g-dev
find_package(PkgConfig REQUIRED)                   # pkg-config
pkg_check_modules(liburing REQUIRED IMPORTED_TARGET liburing>=2.3)  # liburing-dev
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash>=0.8)   # libxxhash-dev
if(VDNN_TESTS)
  find_package(GTest 1.12 REQUIRED)                # libgtest-dev
  find_package(rapidcheck CONFIG REQUIRED)         # librapidcheck-dev
endif()
if(VDNN_BENCH)
  find_package(benchmark 1.7 REQUIRED)             # libbenchmark-dev
endif()

# The NVIDIA GPU device: CUDA toolkit 12 or 13 and cuDNN 9, as NVIDIA packages them.
set(VDNN_CUDA AUTO CACHE STRING "The NVIDIA GPU device: AUTO (where toolkit and cuDNN are found), ON or OFF")
set_property(CACHE VDNN_CUDA PROPERTY STRINGS AUTO ON OFF)
set(VDNN_WITH_CUDA OFF)
if(NOT VDNN_CUDA STREQUAL "OFF")
  find_package(CUDAToolkit 12 QUIET)
  find_path(CUDNN_INCLUDE_DIR cudnn_backend.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
  find_library(CUDNN_LIBRARY cudnn HINTS ${CUDAToolkit_LIBRARY_DIR} ${CUDAToolkit_LIBRARY_ROOT}/lib
                                         ${CUDAToolkit_LIBRARY_ROOT}/lib64)
  set(cudnn_major 0)
  if(CUDNN_INCLUDE_DIR AND EXISTS ${CUDNN_INCLUDE_DIR}/cudnn_version.h)
    foreach(part IN ITEMS major minor)
      string(TOUPPER ${part} PART)
      file(STRINGS ${CUDNN_INCLUDE_DIR}/cudnn_version.h cudnn_${part} REGEX "define CUDNN_${PART} ")
      string(REGEX REPLACE "[^0-9]" "" cudnn_${part} "${cudnn_${part}}")
    endforeach()
  endif()
  if(NOT CUDAToolkit_FOUND)
    set(why "no CUDA toolkit 12 or later")
  elseif(NOT CUDNN_LIBRARY OR cudnn_major LESS 9)
    set(why "no cuDNN 9 beside CUDA toolkit ${CUDAToolkit_VERSION}")
  else()
    set(VDNN_WITH_CUDA ON)
    message(STATUS "device cuda: toolkit ${CUDAToolkit_VERSION}, cuDNN ${cudnn_major}.${cudnn_minor}, ${CUDNN_LIBRARY}")
  endif()
  if(NOT VDNN_WITH_CUDA AND VDNN_CUDA STREQUAL "ON")
    message(FATAL_ERROR "VDNN_CUDA=ON, but ${why}")
  elseif(NOT VDNN_WITH_CUDA)
    message(STATUS "device cuda: not built, ${why}")
  endif()
endif()
