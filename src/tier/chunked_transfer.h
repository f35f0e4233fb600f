#pragma once

#include <cstdint>
#include <string>

#include "tier/request_queue.h"

namespace vdnn {

inline constexpr std::int64_t kTransferChunkBytes = std::int64_t{1} << 20;

// How often one chunk is asked for again without a single granule moving (EINTR, EAGAIN, tiny short
// transfers) before that is an error.
inline constexpr int kFruitlessAttempts = 100;

// Moves all of `whole` in chunks, keeping up to queue.depth() in flight, and checks the result of each
// request. Offset, size and memory of `whole` are multiples of `granule_bytes`, and so are those of
// every request: after a short transfer the chunk goes on from the last granule boundary reached.
//
// Throws StorageError for the first request that fails, naming `file`; by then nothing is in flight.
void transfer_in_chunks(RequestQueue& queue, const FileRequest& whole, std::int64_t granule_bytes,
                        const std::string& file);

}  // namespace vdnn
