// What each transformation makes of a program's choices, and why it may not apply.
#include <algorithm>
#include <functional>
#include <numeric>

#include "space/schedule_draft.h"
#include "space/schedule_space.h"
#include "space/transformations.h"

namespace tw::space {
namespace {

using search::Transformation;
using tvm_api::Sampling;

int64_t Product(const std::vector<int64_t>& factors) {
  return std::accumulate(factors.begin(), factors.end(), int64_t{1}, std::multiplies<>());
}

template <typename T>
Result<T> Parameter(const Transformation& transformation, std::string_view name) {
  const search::Value* value = transformation.Find(name);
  if (value == nullptr) {
    return Fail(Code::kUsage, "{} needs the parameter {}", transformation.name, name);
  }
  if (const T* typed = std::get_if<T>(value)) return *typed;
  return Fail(Code::kUsage, "{}: {} must be {}", transformation.name, name,
              std::is_same_v<T, int64_t>       ? "an integer"
              : std::is_same_v<T, std::string> ? "a name"
                                               : "a list of integers");
}

std::string Joined(const std::vector<int64_t>& values) {
  return fmt::format("{}", fmt::join(values, ", "));
}

}  // namespace

Status ScheduleSpace::Edit(Draft& draft, const Transformation& transformation) {
  const TransformationInfo* info = FindTransformation(transformation.name);
  if (info == nullptr) {
    return Fail(Code::kUsage, "there is no transformation {}", transformation.name);
  }
  for (const auto& [name, value] : transformation.parameters) {
    if (std::none_of(info->parameters.begin(), info->parameters.end(),
                     [&](const ParameterInfo& p) { return p.name == name; })) {
      return Fail(Code::kUsage, "{} has no parameter {}", transformation.name, name);
    }
  }
  if (transformation.name == kSketch) return EditSketch(draft, transformation);
  if (draft.choices.sketch < 0) {
    return Fail(Code::kUsage, "{} needs a sketch: apply Sketch first", transformation.name);
  }
  if (transformation.name == kTileSize) return EditTile(draft, transformation);
  if (transformation.name == kUnroll) return EditUnroll(draft, transformation);
  if (transformation.name == kComputeLocation) return EditLocation(draft, transformation);
  return EditAnnotation(draft, transformation);
}

Status ScheduleSpace::EditSketch(Draft& draft, const Transformation& transformation) {
  TW_TRY(const int64_t index, Parameter<int64_t>(transformation, "index"));
  TW_TRY(const int64_t sample, Parameter<int64_t>(transformation, "sample"));
  if (sample < 1 || sample > kSamples) {
    return Fail(Code::kUsage, "Sketch: sample must be 1 to {}, not {}", kSamples, sample);
  }
  if (index == draft.choices.sketch) {
    return Fail(Code::kUsage, "no change: this is sketch {} already", index);
  }
  if (index < 0 || index >= static_cast<int64_t>(sketches_.size())) {
    return Fail(Code::kUsage, "there is no sketch {}: they are 0 to {}", index,
                static_cast<int>(sketches_.size()) - 1);
  }
  TW_TRY(const Sketch* to, SketchAt(static_cast<int>(index)));
  Choices choices = to->Open(static_cast<int>(index));
  if (draft.choices.sketch >= 0) {
    TW_TRY(const Sketch* from, SketchAt(draft.choices.sketch));
    for (std::size_t i = 0; i < from->slots().size(); ++i) {
      const Slot& slot = from->slots()[i];
      int at = -1;
      switch (slot.sampling.kind) {
        case Sampling::Kind::kPerfectTile:
          at = to->FindTile(slot.block, slot.loop);
          if (at >= 0 && to->slots()[at].sampling.parts != slot.sampling.parts) at = -1;
          break;
        case Sampling::Kind::kComputeLocation:
          at = to->FindLocation(slot.block);
          break;
        case Sampling::Kind::kCategorical:
          at = static_cast<int>(i) == from->FindUnroll() ? to->FindUnroll() : -1;
          break;
      }
      if (at >= 0) choices.decisions[at] = draft.choices.decisions[i];
    }
    for (std::size_t i = 0; i < from->annotations().size(); ++i) {
      const int at = to->FindAnnotation(from->annotations()[i].key);
      if (at >= 0) choices.annotations[at] = draft.choices.annotations[i];
    }
  }
  draft.choices = std::move(choices);
  draft.seed = SeedOf(static_cast<uint64_t>(sample));
  draft.pinned.clear();
  return Ok();
}

Status ScheduleSpace::EditTile(Draft& draft, const Transformation& transformation) {
  TW_TRY(const std::string block, Parameter<std::string>(transformation, "block"));
  TW_TRY(const std::string loop, Parameter<std::string>(transformation, "loop"));
  TW_TRY(const auto factors, Parameter<std::vector<int64_t>>(transformation, "factors"));
  TW_TRY(const Sketch* sketch, SketchAt(draft.choices.sketch));
  const int slot = sketch->FindTile(block, loop);
  if (slot < 0) {
    return Fail(Code::kUsage, "TileSize: no tiles of loop {} of block {} here; there are: {}", loop,
                block, sketch->TileNames());
  }
  const Sampling& sampling = sketch->slots()[slot].sampling;
  std::vector<int64_t>& current = draft.choices.decisions[slot];
  const int64_t extent = Product(current);
  if (static_cast<int>(factors.size()) != sampling.parts) {
    return Fail(Code::kUsage, "TileSize: loop {} has {} tiles, not {}", loop, sampling.parts,
                factors.size());
  }
  // Factors are checked one by one, so that their product cannot overflow.
  int64_t left = extent;
  for (int64_t factor : factors) {
    if (factor < 1 || left % factor != 0) {
      return Fail(Code::kUsage, "TileSize: the product of {} must be {}, the extent of loop {}",
                  Joined(factors), extent, loop);
    }
    left /= factor;
  }
  if (left != 1) {
    return Fail(Code::kUsage, "TileSize: the product of {} must be {}, the extent of loop {}",
                Joined(factors), extent, loop);
  }
  if (sampling.max_innermost > 0 && factors.back() > sampling.max_innermost) {
    return Fail(Code::kUsage, "TileSize: the innermost tile of loop {} is at most {}, not {}", loop,
                sampling.max_innermost, factors.back());
  }
  if (factors == current) return Fail(Code::kUsage, "no change: loop {} is tiled so already", loop);
  current = factors;
  return Ok();
}

Status ScheduleSpace::EditUnroll(Draft& draft, const Transformation& transformation) {
  TW_TRY(const int64_t step, Parameter<int64_t>(transformation, "max_step"));
  TW_TRY(const Sketch* sketch, SketchAt(draft.choices.sketch));
  const int slot = sketch->FindUnroll();
  if (slot < 0) return Fail(Code::kUsage, "Unroll: this sketch has no unrolling");
  const auto& candidates = sketch->slots()[slot].sampling.candidates;
  const auto at = std::find(candidates.begin(), candidates.end(), step);
  if (at == candidates.end()) {
    return Fail(Code::kUsage, "Unroll: max_step must be one of {}, not {}", Joined(candidates),
                step);
  }
  const std::vector<int64_t> decision{at - candidates.begin()};
  if (draft.choices.decisions[slot] == decision) {
    return Fail(Code::kUsage, "no change: max_step is {} already", step);
  }
  draft.choices.decisions[slot] = decision;
  return Ok();
}

Status ScheduleSpace::EditAnnotation(Draft& draft, const Transformation& transformation) {
  const bool parallel = transformation.name == kParallel;
  const char* const parameter = parallel ? "max_jobs" : "max_extent";
  TW_TRY(const int64_t value, Parameter<int64_t>(transformation, parameter));
  TW_TRY(const Sketch* sketch, SketchAt(draft.choices.sketch));
  const int at =
      sketch->FindAnnotation(parallel ? "meta_schedule.parallel" : "meta_schedule.vectorize");
  if (at < 0) {
    return Fail(Code::kUsage, "{}: this sketch has nothing to set", transformation.name);
  }
  const std::vector<int64_t> values = AnnotationValues(transformation.name);
  if (std::find(values.begin(), values.end(), value) == values.end()) {
    return Fail(Code::kUsage, "{}: {} must be one of {}, not {}", transformation.name, parameter,
                Joined(values), value);
  }
  if (draft.choices.annotations[at] == value) {
    return Fail(Code::kUsage, "no change: {} is {} already", parameter, value);
  }
  draft.choices.annotations[at] = value;
  return Ok();
}

Status ScheduleSpace::EditLocation(Draft& draft, const Transformation& transformation) {
  TW_TRY(const std::string block, Parameter<std::string>(transformation, "block"));
  TW_TRY(const std::string loop, Parameter<std::string>(transformation, "loop"));
  TW_TRY(const Sketch* sketch, SketchAt(draft.choices.sketch));
  const int slot = sketch->FindLocation(block);
  if (slot < 0) {
    return Fail(Code::kUsage,
                "ComputeLocation: block {} cannot be moved in this sketch; can be: {}", block,
                sketch->LocationNames());
  }
  std::vector<tvm_api::Site> found;
  if (draft.exact == nullptr) {
    TW_TRY(found, tvm_api::FindSites(design_.GetModule(), sketch->TraceOf(draft.choices)));
  }
  const std::vector<tvm_api::Site>& sites = draft.exact != nullptr ? SitesOf(*draft.exact) : found;
  std::string names;
  for (const tvm_api::Site& site : sites) {
    if (site.instruction != sketch->slots()[slot].sampling.instruction) continue;
    for (const auto& location : site.locations) {
      const std::string name = LocationName(location);
      names += (names.empty() ? "" : ", ") + name;
      if (name != loop) continue;
      const std::vector<int64_t> decision{location.index};
      if (draft.choices.decisions[slot] == decision) {
        return Fail(Code::kUsage, "no change: block {} is computed at {} already", block, loop);
      }
      draft.choices.decisions[slot] = decision;
      draft.pinned.push_back(slot);
      return Ok();
    }
  }
  return Fail(Code::kUsage, "ComputeLocation: block {} cannot be computed at {}; possible: {}",
              block, loop, names);
}

std::vector<int64_t> ScheduleSpace::AnnotationValues(std::string_view transformation) const {
  return transformation == kParallel ? job_counts_ : vector_extents_;
}

}  // namespace tw::space
