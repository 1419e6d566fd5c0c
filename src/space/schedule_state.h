// What a program of ScheduleSpace is made of.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "search/space.h"
#include "tvm/features.h"
#include "tvm/schedule.h"

namespace tw::space {

// The choices that make a program: a sketch and one decision for each of its sampling instructions
// and annotations, in the order of its trace.
struct Choices {
  int sketch = -1;  // -1: the program as it was given
  std::vector<std::vector<int64_t>>
      decisions;  // as tvm_api::Sampling::decision; empty: to be drawn
  std::vector<int64_t> annotations;

  bool operator==(const Choices&) const = default;
};

// A complete, legal program. Its module and trace are replayed when asked for, since they are large
// and most states are never looked at again; the hash and the features stay.
class ScheduleState : public search::State {
 public:
  ScheduleState(Choices choices, uint64_t hash, std::optional<tvm_api::Features> features)
      : choices_(std::move(choices)), hash_(hash), features_(std::move(features)) {}

  const Choices& choices() const { return choices_; }
  bool is_root() const { return choices_.sketch < 0; }
  uint64_t hash() const { return hash_; }  // structural, of the post-processed module
  // Nothing where the space was made without features, or TVM could not analyse the program.
  const std::optional<tvm_api::Features>& features() const { return features_; }

 private:
  friend class ScheduleSpace;
  Choices choices_;
  uint64_t hash_;
  std::optional<tvm_api::Features> features_;
  // Compute locations that are possible here, found when first asked for.
  mutable std::once_flag sites_once_;
  mutable std::vector<tvm_api::Site> sites_;
};

}  // namespace tw::space
