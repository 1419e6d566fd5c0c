// Inputs by seed, argument and element; references in files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/files.h"
#include "verify/element.h"
#include "verify/reference.h"

namespace tw::verify {
namespace {

using ::testing::HasSubstr;

std::vector<double> Draw(Distribution distribution, DType dtype, int64_t count, uint64_t seed = 1,
                         int argument = 0) {
  std::vector<char> data(static_cast<std::size_t>(count) * SizeOf(dtype));
  FillInput(distribution, seed, argument, dtype, count, data.data());
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(Element(dtype, data.data(), i));
  return values;
}

struct Moments {
  double mean = 0, variance = 0, least = 0, most = 0;
};

Moments MomentsOf(const std::vector<double>& values) {
  Moments m;
  for (double v : values) m.mean += v / static_cast<double>(values.size());
  for (double v : values)
    m.variance += (v - m.mean) * (v - m.mean) / static_cast<double>(values.size());
  m.least = *std::min_element(values.begin(), values.end());
  m.most = *std::max_element(values.begin(), values.end());
  return m;
}

TEST(Inputs, DistributionsHaveTheirRangeMeanAndVariance) {
  for (DType dtype : {DType::kF16, DType::kBF16, DType::kF32, DType::kF64}) {
    const Moments uniform = MomentsOf(Draw(Distribution::kUniform, dtype, 100000));
    EXPECT_NEAR(uniform.mean, 0, 0.01);
    EXPECT_NEAR(uniform.variance, 1.0 / 3, 0.01);
    EXPECT_GE(uniform.least, -1);
    EXPECT_LE(uniform.most, 1);
    const Moments normal = MomentsOf(Draw(Distribution::kNormal, dtype, 100000));
    EXPECT_NEAR(normal.mean, 0, 0.02);
    EXPECT_NEAR(normal.variance, 1, 0.02);
    EXPECT_LT(normal.least, -3);
    EXPECT_GT(normal.most, 3);
    EXPECT_LT(normal.most, 3.48);
    const Moments positive = MomentsOf(Draw(Distribution::kPositive, dtype, 100000));
    EXPECT_NEAR(positive.mean, 1, 0.01);
    EXPECT_GE(positive.least, 0.5);
    EXPECT_LE(positive.most, 1.5);
  }
}

TEST(Inputs, IntegersAreSmallAndPositiveOnesAreIndices) {
  for (DType dtype : {DType::kI8, DType::kI16, DType::kI32, DType::kI64}) {
    const auto v = Draw(Distribution::kUniform, dtype, 1000);
    EXPECT_EQ(std::set<double>(v.begin(), v.end()), (std::set<double>{-4, -3, -2, -1, 0, 1, 2, 3}));
    const auto p = Draw(Distribution::kPositive, dtype, 1000);
    EXPECT_EQ(std::set<double>(p.begin(), p.end()), (std::set<double>{0, 1, 2, 3}));
  }
  for (DType dtype : {DType::kU8, DType::kU16, DType::kU32, DType::kU64}) {
    const auto v = Draw(Distribution::kUniform, dtype, 1000);
    EXPECT_EQ(std::set<double>(v.begin(), v.end()), (std::set<double>{0, 1, 2, 3, 4, 5, 6, 7}));
  }
  const auto flags = Draw(Distribution::kUniform, DType::kBool, 1000);
  EXPECT_EQ(std::set<double>(flags.begin(), flags.end()), (std::set<double>{0, 1}));
}

TEST(Inputs, AnElementDependsOnSeedArgumentAndIndexOnly) {
  const auto all = Draw(Distribution::kNormal, DType::kF32, 1000);
  const auto front = Draw(Distribution::kNormal, DType::kF32, 10);
  EXPECT_TRUE(std::equal(front.begin(), front.end(), all.begin()));
  EXPECT_NE(all, Draw(Distribution::kNormal, DType::kF32, 1000, 2));
  EXPECT_NE(all, Draw(Distribution::kNormal, DType::kF32, 1000, 1, 1));
}

// The numbers themselves, so that a changed generator does not go unnoticed: a reference in a run
// directory would then belong to other inputs.
TEST(Inputs, AreTheSameForEver) {
  EXPECT_EQ(Draw(Distribution::kUniform, DType::kI32, 8),
            (std::vector<double>{-1, -3, -2, -3, 0, -1, 2, 1}));
  EXPECT_EQ(Draw(Distribution::kNormal, DType::kF64, 2),
            (std::vector<double>{1.1230738375371074, -1.2038144261772887}));
}

class ReferenceFile : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("tw_reference_" + std::to_string(getpid()) + "_" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
    path_ = folder_ / "reference.bin";
    reference_.seed = 0xfedcba9876543210;
    reference_.distribution = Distribution::kNormal;
    reference_.arguments = {{"A", DType::kBF16, {2, 3}, false}, {"C", DType::kF32, {}, true}};
    reference_.precision = DType::kF16;
    reference_.reduction_length = 77;
    reference_.oracle = "interpreter";
    ExpectedOutput whole, points;
    whole.argument = 1;
    whole.value = {std::nan("")};
    whole.scale = 0.25;
    points.argument = 1;
    points.index = {0, 5, 1'000'000'000'000};
    points.value = {1, -INFINITY, 1e-300};
    reference_.outputs = {whole, points};
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_, path_;
  Reference reference_;
};

TEST_F(ReferenceFile, ComesBackWhole) {
  ASSERT_TRUE(reference_.Save(path_).ok());
  const auto back = Reference::Load(path_);
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(back->seed, reference_.seed);
  EXPECT_EQ(back->distribution, Distribution::kNormal);
  EXPECT_EQ(back->precision, DType::kF16);
  EXPECT_EQ(back->reduction_length, 77);
  EXPECT_EQ(back->oracle, "interpreter");
  ASSERT_EQ(back->arguments.size(), 2u);
  EXPECT_EQ(back->arguments[0].name, "A");
  EXPECT_EQ(back->arguments[0].dtype, DType::kBF16);
  EXPECT_EQ(back->arguments[0].shape, (std::vector<int64_t>{2, 3}));
  EXPECT_FALSE(back->arguments[0].is_output);
  EXPECT_TRUE(back->arguments[1].is_output);
  ASSERT_EQ(back->outputs.size(), 2u);
  EXPECT_TRUE(std::isnan(back->outputs[0].value[0]));
  EXPECT_EQ(back->outputs[0].scale, 0.25);
  EXPECT_EQ(back->outputs[1].index, reference_.outputs[1].index);
  EXPECT_EQ(back->outputs[1].value, reference_.outputs[1].value);
}

TEST_F(ReferenceFile, EveryFlippedBitAndEveryCutIsNoticed) {
  ASSERT_TRUE(reference_.Save(path_).ok());
  const std::string good = ReadFile(path_, Code::kRunDirectory).value();
  const auto refused = [&](const std::string& bytes) {
    std::ofstream(path_, std::ios::binary) << bytes;
    const auto loaded = Reference::Load(path_);
    if (loaded.ok()) return false;
    EXPECT_EQ(loaded.error().code, Code::kRunDirectory);
    EXPECT_THAT(loaded.error().message, HasSubstr("delete it and run again"));
    return true;
  };
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ (1 << (i % 8)));
    ASSERT_TRUE(refused(bad)) << "byte " << i;
    ASSERT_TRUE(refused(good.substr(0, i))) << "cut at " << i;
  }
  EXPECT_TRUE(refused(good + "x"));
}

TEST_F(ReferenceFile, AMissingOneIsAnError) {
  const auto loaded = Reference::Load(folder_ / "none");
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code, Code::kRunDirectory);
  EXPECT_THAT(loaded.error().message, HasSubstr("none"));
}

TEST_F(ReferenceFile, OneWithoutOutputsIsFine) {
  reference_.outputs.clear();
  ASSERT_TRUE(reference_.Save(path_).ok());
  const auto back = Reference::Load(path_);
  ASSERT_TRUE(back.ok());
  EXPECT_TRUE(back->outputs.empty());
}

}  // namespace
}  // namespace tw::verify
