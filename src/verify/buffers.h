// Argument buffers with guard zones, for running an untrusted kernel.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tvm/build.h"
#include "verify/reference.h"

namespace tw::verify {

// All arguments of one call. Every buffer is aligned to 64 bytes and has a guard zone of 4 KiB
// before and after it; inputs are filled from the reference, outputs with a sentinel (NaN for
// floats, 0xA5 bytes else).
class Buffers {
 public:
  static Result<Buffers> Allocate(const Reference& reference);

  const std::vector<tvm_api::TensorView>& views() const { return views_; }
  void FillOutputsWithSentinel();
  // Why the call is wrong: outputs differ, an input changed, a guard zone was written. nullopt when
  // right. All `references`, at least one, are of the same arguments. `worst` gets the largest
  // error over its tolerance.
  std::optional<std::string> Check(std::span<const Reference> references, double* worst) const;

 private:
  std::optional<std::string> CheckMemory(const Reference& reference) const;
  std::optional<std::string> CheckValues(const Reference& reference, double* worst) const;

  struct Block;
  std::vector<std::shared_ptr<Block>> blocks_;
  std::vector<tvm_api::TensorView> views_;
  std::vector<bool> is_output_;
};

}  // namespace tw::verify
