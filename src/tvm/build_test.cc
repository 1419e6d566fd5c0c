#include "tvm/build.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <thread>

#include "tvm/runtime.h"
#include "tvm/schedule.h"
#include "tvm/testing.h"

namespace tw::tvm_api {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

constexpr std::size_t kAlignment = 64;

// A row-major tensor in aligned memory.
template <typename T>
class Buffer {
 public:
  Buffer(DType dtype, std::vector<int64_t> shape) : dtype_(dtype), shape_(std::move(shape)) {
    count_ = 1;
    for (int64_t extent : shape_) count_ *= static_cast<std::size_t>(extent);
    const std::size_t bytes = (count_ * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment;
    data_.reset(static_cast<T*>(std::aligned_alloc(kAlignment, bytes)));
    std::fill_n(data_.get(), count_, T{});
  }
  T& operator[](std::size_t i) { return data_.get()[i]; }
  std::size_t count() const { return count_; }
  TensorView view() { return {data_.get(), dtype_, shape_}; }

 private:
  struct Free {
    void operator()(T* pointer) const { std::free(pointer); }
  };
  DType dtype_;
  std::vector<int64_t> shape_;
  std::size_t count_ = 0;
  std::unique_ptr<T, Free> data_;
};

class BuildTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const Result<Versions> versions = Load();
    ASSERT_TRUE(versions.ok()) << versions.error().message;
    folder_ = fs::path(::testing::TempDir()) / ("build_test_" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  static Target Llvm() { return *Target::Parse("llvm", 1); }

  // Runs a 5 x 7 x 3 product of small integers and compares it with plain loops, which is exact.
  static void CheckMatmul(const Executable& executable) {
    Buffer<float> a(DType::kF32, {5, 3}), b(DType::kF32, {3, 7}), c(DType::kF32, {5, 7});
    for (std::size_t i = 0; i < a.count(); ++i) a[i] = static_cast<float>(i) - 4;
    for (std::size_t i = 0; i < b.count(); ++i) b[i] = static_cast<float>(i % 5) + 1;
    const std::vector<TensorView> arguments = {a.view(), b.view(), c.view()};
    const Status status = executable.Run(arguments);
    ASSERT_TRUE(status.ok()) << status.error().message;
    for (std::size_t i = 0; i < 5; ++i) {
      for (std::size_t j = 0; j < 7; ++j) {
        float expected = 0;
        for (std::size_t k = 0; k < 3; ++k) expected += a[i * 3 + k] * b[k * 7 + j];
        EXPECT_EQ(c[i * 7 + j], expected) << i << ", " << j;
      }
    }
  }

  fs::path folder_;
};

TEST_F(BuildTest, RunsAMatmul) {
  const Result<Executable> built = Build(testing::Matmul(5, 7, 3), Llvm());
  ASSERT_TRUE(built.ok()) << built.error().message;
  CheckMatmul(*built);
}

TEST_F(BuildTest, SurvivesItsModule) {
  std::optional<Executable> kept;
  {
    const Result<Executable> built = Build(testing::Matmul(5, 7, 3), Llvm());
    ASSERT_TRUE(built.ok()) << built.error().message;
    kept = *built;
  }
  CheckMatmul(*kept);
}

// 1.5 * 2 + 1 = 4 has an exact form in every floating type; 3 * 2 + 1 = 7 in every integer.
template <typename T>
void CheckElementwise(DType dtype, T input, T expected) {
  const Result<Executable> built =
      Build(testing::Elementwise({4, 9}, 2, 1, dtype), *Target::Parse("llvm", 1));
  ASSERT_TRUE(built.ok()) << LongName(dtype) << ": " << built.error().message;
  Buffer<T> a(dtype, {4, 9}), b(dtype, {4, 9});
  for (std::size_t i = 0; i < a.count(); ++i) a[i] = input;
  const std::vector<TensorView> arguments = {a.view(), b.view()};
  const Status status = built->Run(arguments);
  ASSERT_TRUE(status.ok()) << LongName(dtype) << ": " << status.error().message;
  for (std::size_t i = 0; i < b.count(); ++i) EXPECT_EQ(b[i], expected) << LongName(dtype);
}

TEST_F(BuildTest, RunsEveryElementType) {
  CheckElementwise<double>(DType::kF64, 1.5, 4);
  CheckElementwise<float>(DType::kF32, 1.5f, 4);
  CheckElementwise<uint16_t>(DType::kF16, 0x3e00, 0x4400);   // bits of 1.5 and 4 in IEEE half
  CheckElementwise<uint16_t>(DType::kBF16, 0x3fc0, 0x4080);  // and in bfloat16
  CheckElementwise<int8_t>(DType::kI8, 3, 7);
  CheckElementwise<int16_t>(DType::kI16, 3, 7);
  CheckElementwise<int32_t>(DType::kI32, 3, 7);
  CheckElementwise<int64_t>(DType::kI64, 3, 7);
  CheckElementwise<uint8_t>(DType::kU8, 3, 7);
  CheckElementwise<uint16_t>(DType::kU16, 3, 7);
  CheckElementwise<uint32_t>(DType::kU32, 3, 7);
  CheckElementwise<uint64_t>(DType::kU64, 3, 7);
}

TEST_F(BuildTest, ReportsWrongArguments) {
  const Result<Executable> built = Build(testing::Elementwise({4, 8}), Llvm());
  ASSERT_TRUE(built.ok()) << built.error().message;
  Buffer<float> a(DType::kF32, {4, 8}), b(DType::kF32, {4, 8}), small(DType::kF32, {4, 4});
  Buffer<double> wide(DType::kF64, {4, 8});
  const std::vector<std::vector<TensorView>> wrong = {{},
                                                      {a.view()},
                                                      {a.view(), b.view(), b.view()},
                                                      {a.view(), small.view()},
                                                      {a.view(), wide.view()}};
  for (const std::vector<TensorView>& arguments : wrong) {
    const Status status = built->Run(arguments);
    ASSERT_FALSE(status.ok()) << arguments.size();
    EXPECT_EQ(status.error().code, Code::kInternal);
  }
  const std::vector<TensorView> right = {a.view(), b.view()};
  EXPECT_TRUE(built->Run(right).ok());
}

TEST_F(BuildTest, ThreadsBuildAtOnce) {
  std::vector<std::thread> threads;
  std::vector<std::optional<Executable>> built(4);
  std::vector<std::string> errors(built.size());
  const Target target = Llvm();
  const Module module = testing::Matmul(5, 7, 3);
  for (std::size_t i = 0; i < built.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int repeat = 0; repeat < 3; ++repeat) {
        Result<Executable> one = Build(module, target);
        if (one) {
          built[i] = *one;
        } else {
          errors[i] = one.error().message;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < built.size(); ++i) {
    ASSERT_TRUE(built[i].has_value()) << errors[i];
    CheckMatmul(*built[i]);
  }
}

TEST_F(BuildTest, RefusesOtherTargets) {
  const Result<Target> target = Target::Parse("c", 1);
  ASSERT_TRUE(target.ok()) << target.error().message;
  const Result<Executable> built = Build(testing::Matmul(5, 7, 3), *target);
  ASSERT_FALSE(built.ok());
  EXPECT_EQ(built.error().code, Code::kUsage);
  EXPECT_THAT(built.error().message, HasSubstr("only llvm"));
}

TEST_F(BuildTest, AssemblyHasTheFunction) {
  const Result<std::string> text = Assembly(testing::Matmul(5, 7, 3), Llvm());
  ASSERT_TRUE(text.ok()) << text.error().message;
  EXPECT_THAT(*text, HasSubstr("__tvm_ffi_main:"));
  EXPECT_THAT(*text, HasSubstr("ret"));
}

TEST_F(BuildTest, ExportsALibraryThatLoads) {
  const fs::path path = folder_ / "matmul.so";
  const Status status = ExportLibrary(testing::Matmul(5, 7, 3), Llvm(), "my_matmul", path);
  ASSERT_TRUE(status.ok()) << status.error().message;
  const Result<Executable> loaded = LoadLibrary(path, "my_matmul");
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  CheckMatmul(*loaded);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1)
      << "temporary files are left over";

  const Result<Executable> other = LoadLibrary(path, "another");
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, Code::kUsage);
  EXPECT_THAT(other.error().message, HasSubstr("another"));
}

TEST_F(BuildTest, ExportedLibraryLoadsInPython) {
  const fs::path python = fs::path(TW_SOURCE_DIR) / ".venv/bin/python";
  if (!fs::exists(python)) GTEST_SKIP() << "no " << python;
  const fs::path library = folder_ / "scale.so";
  const Status status = ExportLibrary(testing::Elementwise({6}, 3, 5), Llvm(), "scale", library);
  ASSERT_TRUE(status.ok()) << status.error().message;
  const fs::path script = folder_ / "check.py";
  std::ofstream(script) << "import sys, tvm_ffi\n"
                           "import numpy as np\n"
                           "f = tvm_ffi.load_module(sys.argv[1])['scale']\n"
                           "a, b = np.arange(6, dtype=np.float32), np.zeros(6, np.float32)\n"
                           "f(tvm_ffi.from_dlpack(a), tvm_ffi.from_dlpack(b))\n"
                           "assert (b == a * 3 + 5).all(), b\n";
  const std::string command =
      python.string() + " " + script.string() + " " + library.string() + " 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
}

// Memory of std::vector, numpy or torch is rarely aligned to 64 bytes; aligned vector moves would
// fault on it.
TEST_F(BuildTest, ExportedVectorCodeTakesUnalignedMemory) {
  constexpr int64_t kCount = 64;
  const Result<Schedule> schedule =
      Schedule::ReplayJson(testing::Elementwise({kCount}, 3, 5),
                           R"([[["GetSBlock", [], ["B", "main"], ["b0"]],
                                ["GetLoops", ["b0"], [], ["l1"]],
                                ["Split", ["l1", null, 16], [1, 0], ["l2", "l3"]],
                                ["Vectorize", ["l3"], [], []]], []])");
  ASSERT_TRUE(schedule.ok()) << schedule.error().message;
  const fs::path library = folder_ / "scale.so";
  const Status status = ExportLibrary(schedule->GetModule(), Llvm(), "scale", library);
  ASSERT_TRUE(status.ok()) << status.error().message;
  const Result<Executable> loaded = LoadLibrary(library, "scale");
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  std::vector<float> memory(2 * kCount + 32);
  std::iota(memory.begin(), memory.end(), 0.f);
  const std::vector<int64_t> shape = {kCount};
  for (const std::size_t offset : {0, 1, 3, 7, 15}) {
    float* const in = memory.data() + offset;
    float* const out = memory.data() + offset + kCount + 1;
    const TensorView arguments[] = {{in, DType::kF32, shape}, {out, DType::kF32, shape}};
    const Status ran = loaded->Run(arguments);
    ASSERT_TRUE(ran.ok()) << ran.error().message;
    for (int64_t i = 0; i < kCount; ++i) ASSERT_EQ(out[i], in[i] * 3 + 5) << offset << ": " << i;
  }
}

// TVM's JSON has numbers that JSON has not: the start of a maximum.
TEST_F(BuildTest, ExportsAProgramWithInfinities) {
  const Module module = testing::Elementwise({6}, 1, -std::numeric_limits<double>::infinity());
  const Status status = ExportLibrary(module, Llvm(), "lowest", folder_ / "lowest.so");
  EXPECT_TRUE(status.ok()) << status.error().message;
}

TEST_F(BuildTest, ExportErrors) {
  const Module module = testing::Elementwise({4});
  Status status = ExportLibrary(module, Llvm(), "not a name", folder_ / "x.so");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::kUsage);
  status = ExportLibrary(module, Llvm(), "f", folder_ / "missing" / "x.so");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::kUsage);
  const std::string path = std::getenv("PATH");
  setenv("PATH", folder_.c_str(), 1);
  status = ExportLibrary(module, Llvm(), "f", folder_ / "x.so");
  setenv("PATH", path.c_str(), 1);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::kEnvironment);
  EXPECT_FALSE(fs::exists(folder_ / "x.so"));
}

TEST_F(BuildTest, LoadErrors) {
  Result<Executable> loaded = LoadLibrary(folder_ / "missing.so", "f");
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code, Code::kUsage);
  std::ofstream(folder_ / "text.so") << "not a library";
  loaded = LoadLibrary(folder_ / "text.so", "f");
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code, Code::kUsage);
}

}  // namespace
}  // namespace tw::tvm_api
