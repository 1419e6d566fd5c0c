#include "base/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

namespace tw {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;

class FilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "tw_files_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  int CountEntries() const {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      (void)entry;
      ++count;
    }
    return count;
  }

  std::filesystem::path folder_;
};

TEST_F(FilesTest, WritesAndReadsBack) {
  const std::string bytes = std::string("\0\n\xff", 3) + std::string(300'000, 'x');
  ASSERT_TRUE(WriteFileAtomic(folder_ / "a", bytes, Code::kUsage).ok());
  const Result<std::string> read = ReadFile(folder_ / "a", Code::kUsage);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, bytes);
}

TEST_F(FilesTest, ReplacesWholeAndLeavesNothingElse) {
  ASSERT_TRUE(WriteFileAtomic(folder_ / "a", "a long first version", Code::kUsage).ok());
  ASSERT_TRUE(WriteFileAtomic(folder_ / "a", "short", Code::kUsage).ok());
  EXPECT_EQ(*ReadFile(folder_ / "a", Code::kUsage), "short");
  EXPECT_EQ(CountEntries(), 1);
}

TEST_F(FilesTest, MissingFileIsNamedWithReasonAndCode) {
  const Result<std::string> read = ReadFile(folder_ / "none", Code::kRunDirectory);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, Code::kRunDirectory);
  EXPECT_THAT(read.error().message,
              AllOf(HasSubstr("none: cannot read"), EndsWith("No such file or directory")));
}

TEST_F(FilesTest, ReadingAFolderIsAnError) {
  EXPECT_THAT(ReadFile(folder_, Code::kUsage).error().message, HasSubstr("Is a directory"));
}

TEST_F(FilesTest, MissingFolderIsAnErrorOfTheCallersCode) {
  const Status status = WriteFileAtomic(folder_ / "no" / "a", "x", Code::kEnvironment);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::kEnvironment);
  EXPECT_THAT(status.error().message, HasSubstr("no/a: cannot write"));
}

// A write that fails half-way, as on a full disk: the old contents stay, the temporary file goes.
TEST_F(FilesTest, FailedWriteKeepsTheOldFile) {
  ASSERT_TRUE(WriteFileAtomic(folder_ / "a", "old", Code::kUsage).ok());
  rlimit usual{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &usual), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{4096, usual.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status status = WriteFileAtomic(folder_ / "a", std::string(8192, 'x'), Code::kUsage);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &usual), 0);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("File too large"));
  EXPECT_EQ(*ReadFile(folder_ / "a", Code::kUsage), "old");
  EXPECT_EQ(CountEntries(), 1);
}

TEST_F(FilesTest, CreatesDirectoriesWithParentsAndAgain) {
  EXPECT_TRUE(CreateDirectories(folder_ / "x" / "y", Code::kUsage).ok());
  EXPECT_TRUE(CreateDirectories(folder_ / "x" / "y", Code::kUsage).ok());
  EXPECT_TRUE(std::filesystem::is_directory(folder_ / "x" / "y"));
}

TEST_F(FilesTest, DirectoryWhereAFileIsSaysSo) {
  ASSERT_TRUE(WriteFileAtomic(folder_ / "a", "", Code::kUsage).ok());
  const Status status = CreateDirectories(folder_ / "a" / "b", Code::kUsage);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("cannot create the directory"));
}

TEST(SystemReason, SaysWhatToDo) {
  EXPECT_THAT(SystemReason(ENOSPC), AllOf(HasSubstr("No space left"), HasSubstr("make room")));
  EXPECT_THAT(SystemReason(EACCES), HasSubstr("choose a place that you may write to"));
  EXPECT_THAT(SystemReason(EROFS), HasSubstr("choose a place"));
  EXPECT_EQ(SystemReason(ENOENT), "No such file or directory");
}

}  // namespace
}  // namespace tw
