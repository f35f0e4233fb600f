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
