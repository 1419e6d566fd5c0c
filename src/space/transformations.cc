#include "space/transformations.h"

#include <algorithm>
#include <array>

namespace tw::space {
namespace {

constexpr std::array kSketchParameters{
    ParameterInfo{"index", "integer",
                  "which of the sketches: a loop structure with free tile sizes and places"},
    ParameterInfo{"sample", "integer",
                  "number of the random draw that decides what the current program does not"}};
constexpr std::array kTileSizeParameters{
    ParameterInfo{"block", "name", "the block whose loop is tiled"},
    ParameterInfo{"loop", "name", "the loop of the unscheduled program"},
    ParameterInfo{"factors", "integers",
                  "extents of the tiles, outermost first; their product is the loop's extent"}};
constexpr std::array kParallelParameters{ParameterInfo{
    "max_jobs", "integer", "outer loops are fused until they have more jobs than this"}};
constexpr std::array kVectorizeParameters{
    ParameterInfo{"max_extent", "integer", "inner loops of at most this extent become vectors"}};
constexpr std::array kUnrollParameters{
    ParameterInfo{"max_step", "integer", "loop nests of at most this many steps are unrolled"}};
constexpr std::array kComputeLocationParameters{
    ParameterInfo{"block", "name", "the block that is moved"},
    ParameterInfo{
        "loop", "name",
        "the loop of its reader under which it is computed, as L<depth>_<variable>; or root, "
        "or inline"}};

constexpr std::array kTable{
    TransformationInfo{kSketch, "takes a loop structure; decisions that fit it are kept",
                       kSketchParameters, 0.05},
    TransformationInfo{kTileSize, "sets the tile sizes of one loop", kTileSizeParameters, 0.90},
    TransformationInfo{kParallel, "sets how many parallel jobs the outer loops make",
                       kParallelParameters, 0.02},
    TransformationInfo{kVectorize, "sets the longest vector of the inner loops",
                       kVectorizeParameters, 0.02},
    TransformationInfo{kUnroll, "sets how far loops are unrolled", kUnrollParameters, 0.03},
    TransformationInfo{kComputeLocation, "moves a block under a loop of the block that reads it",
                       kComputeLocationParameters, 0.05},
};

}  // namespace

std::span<const TransformationInfo> Transformations() { return kTable; }

const TransformationInfo* FindTransformation(std::string_view name) {
  const auto it = std::find_if(kTable.begin(), kTable.end(),
                               [&](const TransformationInfo& t) { return t.name == name; });
  return it == kTable.end() ? nullptr : &*it;
}

}  // namespace tw::space
