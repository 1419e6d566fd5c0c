#include "tvm/target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tvm/runtime.h"

namespace tw::tvm_api {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

class TargetTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const Result<Versions> versions = Load();
    ASSERT_TRUE(versions.ok()) << versions.error().message;
  }
  static Json Parsed(const std::string& text, int cores = 2) {
    const Result<Target> target = Target::Parse(text, cores);
    EXPECT_TRUE(target.ok()) << text << ": " << target.error().message;
    return target.ok() ? Json::parse(target->ToJson()) : Json();
  }
  static void ExpectError(const std::string& text, const std::string& part) {
    const Result<Target> target = Target::Parse(text, 2);
    ASSERT_FALSE(target.ok()) << text;
    EXPECT_EQ(target.error().code, Code::kUsage) << text;
    EXPECT_THAT(target.error().message, HasSubstr(part)) << text;
  }
};

TEST_F(TargetTest, FillsInThisMachine) {
  const Result<Target> target = Target::Parse("llvm", 3);
  ASSERT_TRUE(target.ok()) << target.error().message;
  EXPECT_EQ(target->Kind(), "llvm");
  EXPECT_EQ(target->Cores(), 3);
  EXPECT_EQ(Json::parse(target->ToJson())["mcpu"], SystemCpu());
}

TEST_F(TargetTest, TakesOptions) {
  const Json target = Parsed(
      "llvm -mcpu=skylake -num-cores=4 -mattr=+avx2,+fma -mtriple=x86_64-linux-gnu -opt-level=2");
  EXPECT_EQ(target["mcpu"], "skylake");
  EXPECT_EQ(target["num-cores"], 4);
  EXPECT_EQ(target["mattr"], Json({"+avx2", "+fma"}));
  EXPECT_EQ(target["mtriple"], "x86_64-linux-gnu");
  EXPECT_EQ(target["opt-level"], 2);
}

TEST_F(TargetTest, ATripleKeepsItsOwnCpu) {
  EXPECT_FALSE(Parsed("llvm -mtriple=aarch64-linux-gnu").contains("mcpu"));
}

TEST_F(TargetTest, TakesJson) {
  const Json target = Parsed(R"( {"kind": "llvm", "mcpu": "skylake", "num-cores": 8})");
  EXPECT_EQ(target["mcpu"], "skylake");
  EXPECT_EQ(target["num-cores"], 8);
}

TEST_F(TargetTest, JsonIsCanonical) {
  const std::string json = Target::Parse("llvm -mcpu=skylake -num-cores=2", 1)->ToJson();
  EXPECT_EQ(json, R"({"keys":["cpu"],"kind":"llvm","mcpu":"skylake","num-cores":2,"tag":""})");
  EXPECT_EQ(Target::Parse("llvm -num-cores=2 -mcpu=skylake", 1)->ToJson(), json);
  EXPECT_EQ(Target::Parse(json, 1)->ToJson(), json);
}

TEST_F(TargetTest, TakesDeviceKinds) {
  EXPECT_EQ(Parsed("cuda -arch=sm_90")["arch"], "sm_90");
  EXPECT_EQ(Parsed("nvptx -mcpu=sm_80")["mcpu"], "sm_80");
  const Result<Target> target = Target::Parse(R"({"kind":"cuda","arch":"sm_90"})", 2);
  ASSERT_TRUE(target.ok()) << target.error().message;
  EXPECT_EQ(target->Kind(), "cuda");
  EXPECT_EQ(target->Cores(), 1);
}

TEST_F(TargetTest, Errors) {
  ExpectError("", "empty");
  ExpectError("  ", "empty");
  ExpectError("lvm", "possible are");
  ExpectError("llvm mcpu=skylake", "-OPTION=VALUE");
  ExpectError("llvm -mcpu", "-OPTION=VALUE");
  ExpectError("llvm -mcpu=", "-OPTION=VALUE");
  ExpectError("llvm -=x", "-OPTION=VALUE");
  ExpectError("llvm -cores=2", "num-cores");
  ExpectError("llvm -kind=c", "no option");
  ExpectError("llvm -num-cores=two", "integer");
  ExpectError("llvm -num-cores=2x", "integer");
  ExpectError("llvm -num-cores=0", "at least 1");
  ExpectError("llvm -num-cores=99999999999999999999", "integer");
  ExpectError("llvm -fast-math=maybe", "true or false");
  ExpectError("llvm -host=llvm", "JSON");
  ExpectError("llvm -mcpu=skylake -mcpu=znver3", "twice");
  ExpectError("llvm -mcpu=nosuch", "knows no CPU \"nosuch\"");
  ExpectError("llvm -mtriple=nosuch -mcpu=skylake", "nosuch");
  ExpectError("{", "not valid JSON");
  ExpectError(R"({"kind":"llvm")", "not valid JSON");
  ExpectError("{}", "no \"kind\"");
  ExpectError(R"({"kind":1})", "no \"kind\"");
  ExpectError(R"({"kind":"lvm"})", "possible are");
  ExpectError(R"({"kind":"llvm","cores":2})", "num-cores");
  ExpectError(R"({"kind":"llvm","num-cores":"two"})", "num-cores");
  ExpectError(R"({"kind":"llvm","mcpu":5})", "mcpu");
  ExpectError(R"({"kind":"llvm","mattr":"avx"})", "mattr");
}

}  // namespace
}  // namespace tw::tvm_api
