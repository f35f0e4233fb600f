#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "support/cuda/on_host/stand_in_cuda.h"
#include "support/temporary_directory.h"
#include "support/training_run.h"
#include "vdnn/graph.h"

// Every function of CUDA, cuDNN and cuBLASLt that the cuda device calls is made to fail, from lowering to the
// last step.
namespace vdnn::testing {
namespace {

using ::testing::HasSubstr;

Graph small() {
  GraphBuilder b("small", {2, 3, 12, 12});
  auto x = b.relu(
      "relu", b.convolution("convolution", b.input(), {.channels = 4, .kernel = {3, 3}, .padding = {1, 1}}));
  x = b.max_pool("pool", b.batch_norm("norm", x), {.kernel = {2, 2}, .stride = {2, 2}});
  b.softmax_cross_entropy("loss", b.fully_connected("classifier", x, {.features = 3}));
  return std::move(b).build();
}

// Two steps in little memory; what was thrown, or nothing.
std::string train_small(const std::string& spill) {
  try {
    Job job(small(), {.device = "cuda", .links = Links{}});
    const Plan plan = tightest_plan(job, {.policy = "vdnn-all", .algorithms = Algorithms::memory});
    train(job, plan, {.seed = 2, .learning_rate = 0.001, .spill_directory = spill});
    return {};
  } catch (const std::exception& error) {
    return error.what();
  }
}

class FailingCalls : public ::testing::Test {
 protected:
  void TearDown() override { fail_library_call({}, 0); }

  void expect_nothing_left(std::size_t descriptors) {
    EXPECT_EQ(descriptors_in_use(), descriptors);
    EXPECT_EQ(stand_in_runtime()->things_in_use(), 0U);
    EXPECT_FALSE(stand_in_runtime()->has_error_left());
  }

  // The first, the last and some calls between.
  static std::set<std::int64_t> some_of(std::int64_t calls) {
    std::set<std::int64_t> some = {1, 2, calls};
    for (int i = 1; i < 6; ++i) some.insert(1 + (calls - 1) * i / 6);
    std::erase_if(some, [&](std::int64_t n) { return n > calls; });
    return some;
  }

  // With which calls of the function training failed, and that the others did no harm.
  template <class Fail>
  int expect_named(const std::string& function, std::int64_t calls, Fail fail) {
    int failed = 0;
    const std::size_t descriptors = descriptors_in_use();
    for (const std::int64_t n : some_of(calls)) {
      SCOPED_TRACE(fmt::format("call {} of {} of {}", n, calls, function));
      fail(function, n);
      const std::string thrown = train_small(directory_.path());
      if (!thrown.empty()) {
        EXPECT_THAT(thrown, HasSubstr(function.substr(0, function.find("_internal"))));
        ++failed;
      }
      fail(function, 0);
      expect_nothing_left(descriptors);
    }
    EXPECT_EQ(train_small(directory_.path()), "") << "after failures of " << function;
    return failed;
  }

  TemporaryDirectory directory_;
};

TEST_F(FailingCalls, OfTheLibrariesAreNamedAndLeaveNothing) {
  ASSERT_EQ(train_small(directory_.path()), "");
  const auto before = library_calls();
  ASSERT_EQ(train_small(directory_.path()), "");
  for (const auto& [function, count] : library_calls()) {
    const std::int64_t calls = count - before.at(function);
    ASSERT_GT(calls, 0) << function;
    if (function.find("Destroy") != std::string::npos) continue;  // nobody to tell, nothing to be done
    const int failed = expect_named(function, calls, fail_library_call);
    // An engine that cannot be asked about is left out, and there are others.
    EXPECT_EQ(failed > 0, function != "cudnnBackendGetAttribute") << function;
  }
}

TEST_F(FailingCalls, OfCudaAreNamedAndLeaveNothing) {
  const auto fail = [](const std::string& function, std::int64_t n) {
    stand_in_runtime()->fail_call(n == 0 ? std::string() : function, n);
  };
  const auto before = stand_in_runtime()->calls();
  ASSERT_EQ(train_small(directory_.path()), "");
  for (const auto& [function, count] : stand_in_runtime()->calls()) {
    const auto known = before.find(function);
    const std::int64_t calls = count - (known == before.end() ? 0 : known->second);
    if (calls > 0) expect_named(function, calls, fail);
  }
}

}  // namespace
}  // namespace vdnn::testing
