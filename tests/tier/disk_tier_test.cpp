#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "support/temporary_directory.h"
#include "tier/aligned_bytes.h"
#include "tier/disk_tier.h"
#include "tier/refused_system_calls.h"
#include "vdnn/error.h"
#include "vdnn/tier.h"

namespace vdnn::testing {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
constexpr unsigned kTmpfileBit = O_TMPFILE & ~O_DIRECTORY;
const RefusedCall kNoTmpfile{SYS_openat, EOPNOTSUPP, 2, kTmpfileBit};
const RefusedCall kNoRing{SYS_io_uring_setup, EPERM};
const RefusedCall kNoDirect{SYS_fcntl, EINVAL, 2, O_DIRECT};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const StorageError& error) {
    return error.what();
  }
  return "no error";
}

std::string open_error(const std::string& directory) {
  return error_of([&] { open_disk_tier({directory, true, true}); });
}

void expect_round_trip(Tier& tier, std::int64_t size_bytes) {
  AlignedBytes source = random_bytes(size_bytes, 1);
  AlignedBytes destination(size_bytes);
  tier.write(0, source.span());
  tier.read(0, destination.span());
  EXPECT_TRUE(source == destination);
}

TEST(DiskTierDirectory, MissingIsNamedWithTheReasonAndTheWayOut) {
  EXPECT_EQ(open_error("/var/tmp/no/such/place"),
            "cannot spill to directory '/var/tmp/no/such/place': No such file or directory; name a writable "
            "directory with --spill DIR");
}

TEST(DiskTierDirectory, AFileIsRefused) {
  const TemporaryDirectory directory;
  const std::string file = directory.path() + "/file";
  std::ofstream(file) << "x";
  EXPECT_TRUE(contains(open_error(file), "'" + file + "': Not a directory")) << open_error(file);
}

TEST(DiskTierDirectory, OneThatTakesNoFilesIsRefused) {
  EXPECT_TRUE(contains(open_error("/proc"), "cannot spill to directory '/proc': ")) << open_error("/proc");
}

TEST(DiskTierDirectory, ReadOnlyFileSystemAndMissingPermissionAreRefused) {
  const TemporaryDirectory directory;
  run_without({{SYS_openat, EROFS, 2, kTmpfileBit}}, [&] {
    EXPECT_TRUE(contains(open_error(directory.path()), directory.path() + "': Read-only file system"));
  });
  run_without({kNoTmpfile, {SYS_openat, EACCES, 2, O_CREAT}}, [&] {
    EXPECT_TRUE(contains(open_error(directory.path()), directory.path() + "': Permission denied"));
  });
}

TEST(DiskTierDirectory, ComesFromTheEnvironmentWhenNotGiven) {
  const TemporaryDirectory directory;
  setenv("VDNN_SPILL", directory.path().c_str(), 1);
  EXPECT_TRUE(contains(open_disk_tier({})->description(), "disk " + directory.path() + ", "));
  setenv("VDNN_SPILL", "", 1);
  EXPECT_TRUE(contains(open_disk_tier({})->description(), "disk /var/tmp, "));
  unsetenv("VDNN_SPILL");
  EXPECT_TRUE(contains(open_disk_tier({})->description(), "disk /var/tmp, "));
}

TEST(DiskTierFile, IsNeverSeenInItsDirectory) {
  const TemporaryDirectory directory;
  const auto tier = open_disk_tier({directory.path(), true, true});
  tier->reserve(kMiB);
  expect_round_trip(*tier, kMiB);
  EXPECT_TRUE(directory.empty());
}

TEST(DiskTierFile, IsUnlinkedAtOnceWhereTheFileSystemKnowsNoUnnamedFiles) {
  const TemporaryDirectory directory;
  run_without({kNoTmpfile}, [&] {
    const auto tier = open_disk_tier({directory.path(), true, true});
    EXPECT_TRUE(directory.empty());
    tier->reserve(kMiB);
    expect_round_trip(*tier, kMiB);
  });
  EXPECT_TRUE(directory.empty());
}

TEST(DiskTierReserve, MoreThanTheDiskHasIsRefusedWithBothNumbers) {
  const TemporaryDirectory directory;
  const auto tier = open_disk_tier({directory.path(), true, true});
  const std::string error = error_of([&] { tier->reserve(std::int64_t{1} << 50); });
  EXPECT_TRUE(contains(error, "cannot reserve 1024 TiB (1125899906842624 bytes) in '" + directory.path() +
                                  "': No space left on device; free there: "))
      << error;
  EXPECT_TRUE(contains(error, "--spill DIR")) << error;
  EXPECT_TRUE(directory.empty());
  tier->reserve(kMiB);
  expect_round_trip(*tier, kMiB);
}

TEST(DiskTierReserve, TakesTheBlocksAtOnceAndGivesThemBackAfterAFailure) {
  const TemporaryDirectory directory;
  SpillFile file = SpillFile::open(directory.path(), true);
  struct stat status {};
  file.reserve(2 * kMiB);
  ASSERT_EQ(fstat(file.fd(), &status), 0);
  EXPECT_EQ(status.st_size, 2 * kMiB);
  EXPECT_GE(status.st_blocks * 512, 2 * kMiB);
  EXPECT_THROW(file.reserve(std::int64_t{1} << 50), StorageError);
  ASSERT_EQ(fstat(file.fd(), &status), 0);
  EXPECT_EQ(status.st_size, 2 * kMiB);
  EXPECT_TRUE(file.room_is_certain());
}

TEST(DiskTierReserve, DiskThatFillsUpMeanwhileIsRefused) {
  const TemporaryDirectory directory;
  run_without({{SYS_fallocate, ENOSPC}}, [&] {
    const auto tier = open_disk_tier({directory.path(), true, true});
    const std::string error = error_of([&] { tier->reserve(kMiB); });
    EXPECT_TRUE(contains(error, "cannot reserve 1.00 MiB (1048576 bytes)")) << error;
    EXPECT_TRUE(contains(error, "No space left on device")) << error;
  });
}

TEST(DiskTierReserve, SaysSoWhereRoomCannotBeSetAside) {
  const TemporaryDirectory directory;
  run_without({{SYS_fallocate, EOPNOTSUPP}}, [&] {
    const auto tier = open_disk_tier({directory.path(), true, true});
    tier->reserve(kMiB);
    EXPECT_TRUE(contains(tier->description(), ", warning: this file system cannot set room aside"));
    expect_round_trip(*tier, kMiB);
    EXPECT_THROW(tier->reserve(std::int64_t{1} << 50), StorageError);
  });
}

TEST(DiskTierDescription, SaysHowAndWhyNotBetter) {
  const TemporaryDirectory directory;
  const std::string disk = "disk " + directory.path() + ", ";
  const auto begins_with = [&](const DiskTierOptions& options, const std::string& text) {
    const auto tier = open_disk_tier(options);
    EXPECT_EQ(tier->description().rfind(text, 0), 0U) << tier->description();
    tier->reserve(kMiB + 4096);
    expect_round_trip(*tier, kMiB + 4096);
  };
  const std::string& path = directory.path();
  begins_with({path, false, true}, disk + "pread/pwrite, direct (io_uring not asked for)");
  begins_with({path, true, false}, disk + "pread/pwrite through the page cache (O_DIRECT not asked for)");
  run_without({kNoRing}, [&] {
    begins_with({path, true, true},
                disk + "pread/pwrite, direct (io_uring not available: Operation not permitted)");
  });
  run_without({{SYS_io_uring_setup, ENOSYS}}, [&] {
    begins_with({path, true, true},
                disk + "pread/pwrite, direct (io_uring not available: Function not implemented)");
  });
  run_without({kNoDirect}, [&] {
    begins_with({path, true, true},
                disk + "pread/pwrite through the page cache (O_DIRECT not supported here)");
  });
}

TEST(DiskTierDescription, NamesTheRingWhereThereIsOne) {
  const TemporaryDirectory directory;
  const std::string text = open_disk_tier({directory.path(), true, true})->description();
  const std::string best = "disk " + directory.path() + ", io_uring, direct";
  EXPECT_TRUE(text == best || contains(text, "io_uring not available: ") ||
              contains(text, "not supported here"))
      << text;
}

TEST(DiskTierDescription, WarnsOfADirectoryInMemory) {
  const TemporaryDirectory directory("/dev/shm");
  const auto tier = open_disk_tier({directory.path(), true, true});
  EXPECT_TRUE(contains(tier->description(), ", warning: this directory is in memory (tmpfs)"))
      << tier->description();
  tier->reserve(kMiB);
  expect_round_trip(*tier, kMiB);
}

TEST(DiskTierFile, TakesThePageCacheWhereDirectWritesAreRefused) {
  const TemporaryDirectory directory;
  run_without({{SYS_pwrite64, EINVAL}}, [&] {
    EXPECT_EQ(SpillFile::open(directory.path(), true).direct_io(), DirectIo::kUnsupported);
  });
}

// The ring opens and then takes nothing, for longer than it has entries.
TEST(DiskTierRing, ThatTakesNoRequestsIsAnErrorAndWorksAgainOnceItDoes) {
  const TemporaryDirectory directory;
  const auto tier = open_disk_tier({directory.path(), true, true});
  if (!contains(tier->description(), "io_uring, direct")) return;  // said by the tier, tested above
  constexpr std::int64_t kSize = 3 * kMiB;
  tier->reserve(kSize);
  AlignedBytes bytes = random_bytes(kSize, 2);
  const auto error_without_ring = [&](int error_number) {
    std::string error;
    run_without({{SYS_io_uring_enter, error_number}},
                [&] { error = error_of([&] { tier->write(0, bytes.span()); }); });
    return error;
  };
  EXPECT_TRUE(contains(error_without_ring(EAGAIN), "Resource temporarily unavailable, 100 times in a row"));
  expect_round_trip(*tier, kSize);
  EXPECT_TRUE(contains(error_without_ring(ENOMEM), "cannot write 1048576 bytes at offset "));
  expect_round_trip(*tier, kSize);
}

std::int64_t cached_pages(int fd, std::int64_t size_bytes) {
  const auto size = static_cast<std::size_t>(size_bytes);
  void* mapping = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
  if (mapping == MAP_FAILED) return -1;
  std::vector<unsigned char> pages(size / static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
  const int result = mincore(mapping, size, pages.data());
  munmap(mapping, size);
  if (result != 0) return -1;
  return std::count_if(pages.begin(), pages.end(), [](unsigned char page) { return (page & 1) != 0; });
}

TEST(DiskTierPageCache, HoldsNothingAfterATransfer) {
  const TemporaryDirectory directory;
  SpillFile file = SpillFile::open(directory.path(), false);
  constexpr std::int64_t kSize = 8 * kMiB;
  // A file system in memory has nowhere else to keep the bytes.
  const bool on_disk = file.memory_file_system().empty();
  const std::int64_t expected = on_disk ? 0 : kSize / sysconf(_SC_PAGESIZE);
  const int fd = file.fd();
  std::string method;
  auto writes = open_request_queue(file, true, method);
  auto reads = open_request_queue(file, true, method);
  DiskTier tier(std::move(file), std::move(writes), std::move(reads), method);
  tier.reserve(kSize);
  AlignedBytes bytes = random_bytes(kSize, 1);
  tier.write(0, bytes.span());
  EXPECT_EQ(cached_pages(fd, kSize), expected);
  tier.read(0, bytes.span(0, kSize / 2));
  EXPECT_EQ(cached_pages(fd, kSize), expected);
}

}  // namespace
}  // namespace vdnn::testing
