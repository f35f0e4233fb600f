#pragma once

// Functions that run on the GPU and, in tests, on the host.
#ifdef __CUDACC__
#define VDNN_HOST_DEVICE __host__ __device__
#else
#define VDNN_HOST_DEVICE
#endif
