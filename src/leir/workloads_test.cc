// Every file of workloads/ reads, checks and keeps its shapes.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "leir/checker.h"
#include "leir/parser.h"
#include "leir/printer.h"

namespace tw::leir {
namespace {

std::string Read(const std::string& name) {
  std::ifstream file(std::filesystem::path(TW_SOURCE_DIR) / "workloads" / (name + ".leir"));
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class WorkloadTest : public testing::TestWithParam<const char*> {};

TEST_P(WorkloadTest, ChecksAndRoundTrips) {
  const std::string text = Read(GetParam());
  ASSERT_EQ(text.substr(0, 2), "# ");
  const auto program = ParseFile(text, GetParam());
  ASSERT_TRUE(program.ok()) << program.error().message;
  const auto checked = Check(*program);
  ASSERT_TRUE(checked.ok()) << checked.error().message;
  const auto again = ParseFile(PrintFile(*program), "printed");
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_TRUE(Equal(*program, *again));
  SideInformation side;
  for (const Tensor& tensor : program->tensors) {
    if (tensor.role != Role::kTemporary) side.arguments.push_back(tensor);
  }
  const auto published = ParsePublished(PrintPublished(*program), side);
  ASSERT_TRUE(published.ok()) << published.error().message;
  EXPECT_TRUE(Equal(*program, *published));
}

INSTANTIATE_TEST_SUITE_P(All, WorkloadTest,
                         testing::Values("llama3-8b-attention", "deepseek-r1-moe", "flux-attention",
                                         "flux-conv", "llama4-scout-mlp", "gemm", "batch-matmul",
                                         "conv2d", "depthwise-conv2d", "softmax", "layer-norm",
                                         "rms-norm"));

TEST(Workload, DimsCanBeGiven) {
  ParseOptions options;
  options.dims = {{"h", 10}, {"pad", 0}, {"stride", 2}};
  const auto program = ParseFile(Read("conv2d"), "conv2d", options);
  ASSERT_TRUE(program.ok()) << program.error().message;
  EXPECT_EQ(program->Find("Y")->shape, (std::vector<int64_t>{1, 64, 4, 27}));
  const auto checked = Check(*program);
  EXPECT_TRUE(checked.ok()) << checked.error().message;
  options.dims = {{"oh", 3}};
  EXPECT_EQ(ParseFile(Read("conv2d"), "conv2d", options).error().message,
            "conv2d:12:5: the dim `oh` is computed from others and cannot be given; give those "
            "instead");
  options.dims = {{"rows", 3}};
  EXPECT_EQ(ParseFile(Read("gemm"), "gemm", options).error().message,
            "gemm: there is no dim `rows`; the file has k, m, n");
}

}  // namespace
}  // namespace tw::leir
