#pragma once

#include <string>

namespace vdnn::testing {

// The message of the `Expected` that `action` throws; empty if it throws nothing. Other types pass through.
template <class Expected, class Action>
std::string error_message(const Action& action) {
  try {
    action();
  } catch (const Expected& error) {
    return error.what();
  }
  return {};
}

}  // namespace vdnn::testing
