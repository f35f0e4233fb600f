#pragma once

namespace vdnn::testing {

// An NVIDIA H200 as cuDNN describes devices (CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION), from what CUDA's
// documentation says of compute capability 9.0 and NVIDIA's data sheet of the GPU.
inline constexpr const char* kDescribedGpu = R"({
  "deviceName": "NVIDIA H200", "deviceVer": 900, "driverVer": 13000, "cudaDeviceId": 0, "pciDeviceId": 0,
  "isTccDriver": 0, "totalGlobalMem": 150000000000, "multiProcessorCount": 132, "warpSize": 32,
  "maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64], "maxThreadsPerBlock": 1024,
  "maxThreadsPerSM": 2048, "maxCtasPerSM": 32, "regsPerBlock": 65536, "maxRegistersPerSM": 65536,
  "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 232448,
  "reservedSharedMemoryPerBlock": 1024, "l2CacheSize": 62914560, "supportCoopLaunch": 1,
  "smClockRateKHz": 1980000, "memClockRateKHz": 3201000
})";

}  // namespace vdnn::testing
