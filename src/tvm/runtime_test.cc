#include "tvm/runtime.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include "tvm/ffi.h"

namespace tw::tvm_api {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

constexpr const char* kHome = "TENSORWRIGHT_TVM_HOME";

TEST(RuntimeTest, LoadsThePinnedVersions) {
  for (int repeat = 0; repeat < 2; ++repeat) {
    const Result<Versions> versions = Load();
    ASSERT_TRUE(versions.ok()) << versions.error().message;
    EXPECT_EQ(versions->tvm, kTvmVersion);
    EXPECT_EQ(versions->tvm_ffi, kTvmFfiVersion);
    EXPECT_TRUE(fs::exists(fs::path(versions->library_dir) / "libtvm_compiler.so"));
  }
  EXPECT_FALSE(SystemCpu().empty());
}

// A made-up site-packages folder named by the environment variable.
class SiteTest : public ::testing::Test {
 protected:
  void SetUp() override {
    site_ = fs::path(::testing::TempDir()) / ("site_test_" + std::to_string(getpid()));
    fs::create_directories(site_);
    setenv(kHome, site_.c_str(), 1);
  }
  void TearDown() override {
    unsetenv(kHome);
    fs::remove_all(site_);
  }
  void Install(const std::string& name) { fs::create_directories(site_ / (name + ".dist-info")); }
  void ExpectError(const std::vector<std::string>& parts) {
    const Result<Versions> versions = Load();
    ASSERT_FALSE(versions.ok());
    EXPECT_EQ(versions.error().code, Code::kEnvironment);
    for (const std::string& part : parts) EXPECT_THAT(versions.error().message, HasSubstr(part));
  }

  static constexpr const char* kInstall =
      "pip install 'apache-tvm==0.27.0.post1' 'apache-tvm-ffi==0.1.14.post1'";
  fs::path site_;
};

TEST_F(SiteTest, NoFolder) {
  fs::remove_all(site_);
  ExpectError({site_.string(), "is not a folder", kHome, kInstall});
}

TEST_F(SiteTest, NothingInstalled) {
  ExpectError({"apache-tvm is not installed in " + site_.string(), kInstall});
}

TEST_F(SiteTest, WrongTvm) {
  Install("apache_tvm-0.26.0");
  Install("apache_tvm_ffi-0.1.14.post1");
  ExpectError({"apache-tvm 0.26.0 is installed", "needs 0.27.0.post1", kInstall});
}

TEST_F(SiteTest, WrongFfi) {
  Install("apache_tvm-0.27.0.post1");
  Install("apache_tvm_ffi-0.1.15");
  ExpectError({"apache-tvm-ffi 0.1.15 is installed", "needs 0.1.14.post1", kInstall});
}

TEST_F(SiteTest, NoFfi) {
  Install("apache_tvm-0.27.0.post1");
  ExpectError({"apache-tvm-ffi is not installed", kInstall});
}

TEST_F(SiteTest, NoLibraryOrAlreadyLoaded) {
  Install("apache_tvm-0.27.0.post1");
  Install("apache_tvm_ffi-0.1.14.post1");
  const Result<Versions> versions = Load();
  ASSERT_FALSE(versions.ok());
  EXPECT_EQ(versions.error().code, Code::kEnvironment);
  EXPECT_THAT(versions.error().message,
              ::testing::AnyOf(AllOf(HasSubstr("libtvm_runtime.so"), HasSubstr(kInstall)),
                               HasSubstr("already")));
}

TEST(RuntimeDeathTest, OneErrorNamesEveryMissingFunction) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // starts this test anew in a process of its own
  constexpr const char* kLibraries = "TW_RUNTIME_TEST_LIBRARIES";
  if (std::getenv(kLibraries) == nullptr) {
    const Result<Versions> versions = Load();
    ASSERT_TRUE(versions.ok()) << versions.error().message;
    setenv(kLibraries, versions->library_dir.c_str(), 1);
  }
  EXPECT_EXIT(
      {
        const std::string folder = std::getenv(kLibraries);
        for (const char* name : {"runtime", "runtime_extra", "compiler"}) {
          dlopen((folder + "/libtvm_" + name + ".so").c_str(), RTLD_NOW | RTLD_GLOBAL);
        }
        for (const char* name : {"transform.RunPass", "tirx.For"}) {
          Call("ffi.FunctionRemoveGlobal", ffi::String(name));
        }
        const Result<Versions> versions = Load();
        if (versions.ok()) std::exit(0);
        fmt::print(stderr, "{}\n", versions.error().message);
        std::exit(static_cast<int>(versions.error().code));
      },
      ::testing::ExitedWithCode(5), "lacks 2 function\\(s\\): tirx.For, transform.RunPass");
  unsetenv(kLibraries);
}

TEST(RuntimeTest, RequiredFunctionsAreSortedAndDistinct) {
  const std::vector<std::string>& names = RequiredFunctions();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
}

// What the code calls by name must be probed at start-up, so that a wrong TVM is found there.
TEST(RuntimeTest, EveryCalledFunctionIsRequired) {
  const std::set<std::string> required(RequiredFunctions().begin(), RequiredFunctions().end());
  const std::regex call("\\bCall\\(\\s*\"([^\"]+)\"");
  int calls = 0;
  for (const char* folder : {"tvm", "lower"}) {
    for (const auto& entry : fs::directory_iterator(fs::path(TW_SOURCE_DIR) / "src" / folder)) {
      const std::string file = entry.path().filename().string();
      if (entry.path().extension() != ".cc" || file.ends_with("_test.cc")) continue;
      std::ifstream in(entry.path());
      const std::string text{std::istreambuf_iterator<char>(in), {}};
      for (std::sregex_iterator it(text.begin(), text.end(), call), end; it != end; ++it) {
        EXPECT_TRUE(required.contains((*it)[1])) << file << " calls " << (*it)[1];
        ++calls;
      }
    }
  }
  EXPECT_GT(calls, 50);
}

}  // namespace
}  // namespace tw::tvm_api
