// What TVM's cost models see of a scheduled module.
#pragma once

#include <vector>

#include "base/result.h"
#include "tvm/module.h"
#include "tvm/schedule.h"
#include "tvm/target.h"

namespace tw::tvm_api {

// Names of the columns: arithmetic of the store's loop nest (57), five buffers of 18 features each,
// a ten-point curve of arithmetic intensity, allocation and loop context (7); the order of TVM's
// per_store_feature.cc. Counts and sizes are log2(x + 1)-scaled by TVM.
inline constexpr int kFeatureColumns = 164;

// The features of each buffer store (rows x columns, row-major), in the order of the program.
struct Features {
  std::vector<float> values;
  int rows = 0;
  int columns = 0;
};

// Thread-safe. Errors are kUsage: TVM cannot analyse the module.
class FeatureExtractor {
 public:
  struct Impl;
  static Result<FeatureExtractor> Make(const Module& module, const Target& target);
  Result<Features> Extract(const Schedule& schedule) const;

 private:
  explicit FeatureExtractor(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

}  // namespace tw::tvm_api
