#pragma once

#include <cstddef>
#include <functional>

namespace vdnn {

// Calls work(0), ..., work(count - 1), each once, on as many threads as there are processors to use. Throws
// the first of what the calls throw, by position, when all have ended.
void parallel_for(std::size_t count, const std::function<void(std::size_t)>& work);

}  // namespace vdnn
