// The space of programs that a searcher walks. No TVM and no LLM here: toy spaces in the tests
// implement the same interface as ScheduleSpace.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "search/transformation.h"

namespace tw::search {

// A program state: immutable, cheap to copy by pointer. Each Space derives its own.
class State {
 public:
  virtual ~State() = default;
};
using StatePtr = std::shared_ptr<const State>;

struct Step {
  StatePtr from;
  std::vector<Transformation> sequence;  // applied in order
};

class Space {
 public:
  virtual ~Space() = default;

  // The program as it was given.
  virtual StatePtr Root() = 0;
  // What may be done to `state`, with parameter domains; the same order every time.
  virtual std::vector<Domain> Domains(const State& state) = 0;
  // The new state, or a reason why the transformation does not apply. A state that is returned is a
  // complete, legal program that can be measured.
  virtual Result<StatePtr> Apply(const StatePtr& state, const Transformation& transformation) = 0;
  // Applies many sequences; a Space that can uses several threads. The i-th result is that of
  // steps[i]. A sequence stops with an error at the first transformation that does not apply.
  // Intermediate states need not be materialised, only the last.
  virtual std::vector<Result<StatePtr>> ApplyAll(std::span<const Step> steps);
  // Two states are the same program if and only if their keys are equal.
  virtual std::string Key(const State& state) = 0;
  // A random complete program, independent of any other state.
  virtual Result<StatePtr> RandomState(Random& random) = 0;
  // Transformations that change one decision by one step (for coordinate descent), in a fixed
  // order.
  virtual std::vector<Transformation> Neighbours(const State& state) = 0;
  // Text from which Decode makes the same state again, in this process or another one.
  virtual std::string Encode(const State& state) = 0;
  virtual Result<StatePtr> Decode(const std::string& text) = 0;
};

}  // namespace tw::search
