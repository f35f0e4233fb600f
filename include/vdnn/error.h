#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace vdnn {

// Every failure that vdnn reports is an exception of one of the classes below. A message says what
// failed, where, with which numbers, and what would help. "The budget cannot hold" is not an error
// but a value (see plan.h), except where a caller asked to run a plan that does not exist.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A network is malformed: shapes that do not fit, unknown ops, a text file that does not parse.
class ModelError : public Error {
 public:
  using Error::Error;
};

// A device lacks an op or an attribute combination; raised when a graph is lowered, never later.
class UnsupportedError : public Error {
 public:
  using Error::Error;
};

// The caller asked for something impossible: unknown names, batch 0, sizes that overflow.
class UsageError : public Error {
 public:
  using Error::Error;
};

// Something outside could not be read or written: data sets, spill directory, disk.
class StorageError : public Error {
 public:
  using Error::Error;
};

// A device failed while running, or was driven wrongly.
class DeviceError : public Error {
 public:
  using Error::Error;
};

// A budget that cannot hold the policy's plan, thrown where the plan was to be run.
class BudgetError : public Error {
 public:
  BudgetError(const std::string& message, std::int64_t least_budget_bytes)
      : Error(message), least_budget_bytes_(least_budget_bytes) {}

  // The least budget with which the same request works.
  [[nodiscard]] std::int64_t least_budget_bytes() const { return least_budget_bytes_; }

 private:
  std::int64_t least_budget_bytes_;
};

}  // namespace vdnn
