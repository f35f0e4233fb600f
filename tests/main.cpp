#include <gmock/gmock.h>
#include <gtest/gtest.h>

// Exit status 77 tells ctest that something was skipped and nothing failed; gtest_main says 0 there.
int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  const int status = RUN_ALL_TESTS();
  constexpr int kSkipped = 77;
  return status == 0 && testing::UnitTest::GetInstance()->skipped_test_count() > 0 ? kSkipped : status;
}
