#include "vdnn/whole_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "support/error_message.h"
#include "support/file_bytes.h"
#include "support/temporary_directory.h"
#include "vdnn/error.h"

namespace vdnn::testing {
namespace {

std::size_t files_in(const std::string& directory) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(directory), {}));
}

TEST(WholeFile, ReplacesWhatWasThere) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/file";
  write_whole_file(path, "a longer text");
  write_whole_file(path, std::string("b\0c", 3));
  EXPECT_EQ(read_file(path), std::string("b\0c", 3));
  EXPECT_EQ(files_in(directory.path()), 1);
}

TEST(WholeFile, LeavesNothingWhereItFails) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/missing/file";
  EXPECT_THAT(error_message<StorageError>([&] { write_whole_file(path, "text"); }),
              ::testing::AllOf(::testing::HasSubstr(path), ::testing::HasSubstr("No such file")));
  EXPECT_TRUE(directory.empty());
  std::filesystem::create_directories(directory.path() + "/taken/below");
  EXPECT_THROW(write_whole_file(directory.path() + "/taken", "text"), StorageError);
  EXPECT_EQ(files_in(directory.path()), 1);
}

TEST(WholeFile, WritesToADeviceAsItIs) {
  write_whole_file("/dev/null", "text");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_THROW(write_whole_file("/dev/full", "text"), StorageError);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

TEST(WholeFile, KeepsALinkAndTheFilesMode) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/file";
  write_whole_file(path, "old");
  std::filesystem::permissions(path,
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  std::filesystem::create_symlink(path, directory.path() + "/link");
  write_whole_file(directory.path() + "/link", "new");
  EXPECT_TRUE(std::filesystem::is_symlink(directory.path() + "/link"));
  write_whole_file(path, read_whole_file(path) + "er");
  EXPECT_EQ(read_whole_file(path), "newer");
  EXPECT_EQ(std::filesystem::status(path).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST(WholeFile, ReadsWhatIsThereOrSaysWhyNot) {
  const TemporaryDirectory directory;
  write_whole_file(directory.path() + "/empty", "");
  EXPECT_EQ(read_whole_file(directory.path() + "/empty"), "");
  for (const char* name : {"/missing", ""}) {
    EXPECT_THAT(error_message<StorageError>([&] { read_whole_file(directory.path() + name); }),
                ::testing::HasSubstr(directory.path() + name));
  }
}

}  // namespace
}  // namespace vdnn::testing
