// The transformations of ScheduleSpace: the one table from which help texts, prompts and schemas
// are made.
#pragma once

#include <span>
#include <string_view>

namespace tw::space {

inline constexpr std::string_view kSketch = "Sketch";
inline constexpr std::string_view kTileSize = "TileSize";
inline constexpr std::string_view kParallel = "Parallel";
inline constexpr std::string_view kVectorize = "Vectorize";
inline constexpr std::string_view kUnroll = "Unroll";
inline constexpr std::string_view kComputeLocation = "ComputeLocation";

struct ParameterInfo {
  std::string_view name;
  std::string_view type;  // "integer", "name" or "integers"
  std::string_view description;
};

struct TransformationInfo {
  std::string_view name;
  std::string_view description;
  std::span<const ParameterInfo> parameters;
  // Probability that random sampling takes it. Those of TVM's mutators (tile size 0.9, compute
  // location 0.05, unroll 0.03, parallel 0.02; MutatorNode::DefaultLLVM), with small ones for the
  // two that TVM does not have.
  double weight = 0;
};

std::span<const TransformationInfo> Transformations();
const TransformationInfo* FindTransformation(std::string_view name);  // null when there is none

}  // namespace tw::space
