// One sketch: which choices it has, what they are called, and the domains of their values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "search/transformation.h"
#include "space/schedule_state.h"
#include "tvm/schedule.h"

namespace tw::space {

// A sampling instruction of a sketch with the names of the place where it acts.
struct Slot {
  tvm_api::Sampling sampling;
  std::string block;  // "" for categoricals
  std::string loop;   // of tiles; unique within the block
};

class Sketch {
 public:
  // Replays the sketch once, to learn the names of its blocks and loops.
  static Result<Sketch> Make(const tvm_api::Module& module, const tvm_api::Trace& trace);

  const std::vector<Slot>& slots() const { return slots_; }
  const std::vector<tvm_api::Annotation>& annotations() const { return annotations_; }

  int FindTile(const std::string& block, const std::string& loop) const;  // -1: none
  int FindLocation(const std::string& block) const;
  int FindUnroll() const;
  int FindAnnotation(const std::string& key) const;  // index into annotations()
  // The block and loop of each tile, for messages.
  std::string TileNames() const;
  std::string LocationNames() const;  // the blocks that can be moved

  // A trace with these choices; empty decisions are left open.
  tvm_api::Trace TraceOf(const Choices& choices) const;
  // All decisions open, annotations as TVM's rules set them.
  Choices Open(int index) const;
  // The decisions that a replayed schedule took.
  Choices Taken(int index, const Choices& asked, const tvm_api::Trace& replayed) const;

 private:
  tvm_api::Trace trace_;
  std::vector<Slot> slots_;
  std::vector<tvm_api::Annotation> annotations_;
};

// "L3_k_0" for the loop k_0 at depth 3; "root"; "inline".
std::string LocationName(const tvm_api::Site::Location& location);

}  // namespace tw::space
