// What may be done to a program, for random sampling and for coordinate descent.
#include <algorithm>
#include <functional>
#include <numeric>

#include "space/schedule_draft.h"
#include "space/schedule_space.h"
#include "space/transformations.h"

namespace tw::space {
namespace {

using search::Domain;
using search::Parameter;
using search::Transformation;
using tvm_api::Sampling;

Parameter Integers(std::string_view name, std::vector<int64_t> values) {
  Parameter parameter;
  parameter.name = name;
  parameter.kind = Parameter::Kind::kInteger;
  parameter.integers = std::move(values);
  return parameter;
}

Parameter Names(std::string_view name, std::vector<std::string> values) {
  Parameter parameter;
  parameter.name = name;
  parameter.kind = Parameter::Kind::kName;
  parameter.names = std::move(values);
  return parameter;
}

Parameter Factors(const Sampling& sampling, const std::vector<int64_t>& current) {
  Parameter parameter;
  parameter.name = "factors";
  parameter.kind = Parameter::Kind::kFactors;
  parameter.product =
      std::accumulate(current.begin(), current.end(), int64_t{1}, std::multiplies<>());
  parameter.parts = sampling.parts;
  parameter.max_last = std::max<int64_t>(sampling.max_innermost, 0);
  return parameter;
}

std::vector<int64_t> Without(std::vector<int64_t> values, int64_t value) {
  std::erase(values, value);
  return values;
}

double Weight(std::string_view name) { return FindTransformation(name)->weight; }

std::vector<int64_t> PrimeDivisors(int64_t number) {
  std::vector<int64_t> primes;
  for (int64_t p = 2; p * p <= number; ++p) {
    if (number % p != 0) continue;
    primes.push_back(p);
    while (number % p == 0) number /= p;
  }
  if (number > 1) primes.push_back(number);
  return primes;
}

// One prime moved between two neighbouring levels.
std::vector<std::vector<int64_t>> TileNeighbours(const std::vector<int64_t>& factors,
                                                 int64_t max_innermost) {
  std::vector<std::vector<int64_t>> result;
  for (std::size_t level = 0; level + 1 < factors.size(); ++level) {
    for (const bool inwards : {true, false}) {
      const std::size_t from = inwards ? level : level + 1, to = inwards ? level + 1 : level;
      for (int64_t prime : PrimeDivisors(factors[from])) {
        std::vector<int64_t> moved = factors;
        moved[from] /= prime;
        moved[to] *= prime;
        if (max_innermost <= 0 || moved.back() <= max_innermost) result.push_back(std::move(moved));
      }
    }
  }
  return result;
}

// The entries of the sorted `values` next to `value`, which may lie between two of them.
std::vector<int64_t> Adjacent(const std::vector<int64_t>& values, int64_t value) {
  std::vector<int64_t> result;
  const auto above = std::upper_bound(values.begin(), values.end(), value);
  const auto below = std::lower_bound(values.begin(), values.end(), value);
  if (below != values.begin()) result.push_back(*(below - 1));
  if (above != values.end()) result.push_back(*above);
  return result;
}

}  // namespace

const std::vector<tvm_api::Site>& ScheduleSpace::SitesOf(const ScheduleState& state) {
  std::call_once(state.sites_once_, [&] {
    if (state.is_root()) return;
    const Sketch* sketch = SketchAt(state.choices().sketch).value();
    if (sketch->LocationNames() == "none") return;
    auto sites = tvm_api::FindSites(design_.GetModule(), sketch->TraceOf(state.choices()));
    if (sites.ok()) state.sites_ = std::move(sites).value();
  });
  return state.sites_;
}

std::vector<Domain> ScheduleSpace::Domains(const search::State& any) {
  const auto& state = static_cast<const ScheduleState&>(any);
  std::vector<Domain> domains;
  const auto add = [&](std::string_view name, std::vector<Parameter> parameters, double weight) {
    for (const Parameter& p : parameters) {
      const bool empty = (p.kind == Parameter::Kind::kInteger && p.integers.empty()) ||
                         (p.kind == Parameter::Kind::kName && p.names.empty()) ||
                         (p.kind == Parameter::Kind::kFactors && p.product == 1);
      if (empty) return;
    }
    domains.push_back({std::string(name), std::move(parameters), weight});
  };

  std::vector<int64_t> indices(sketches_.size()), samples(kSamples);
  std::iota(indices.begin(), indices.end(), 0);
  std::iota(samples.begin(), samples.end(), 1);
  add(kSketch,
      {Integers("index", Without(indices, state.choices().sketch)), Integers("sample", samples)},
      Weight(kSketch));
  if (state.is_root()) return domains;

  const Sketch* sketch = SketchAt(state.choices().sketch).value();
  const auto& slots = sketch->slots();
  const auto& decisions = state.choices().decisions;
  const auto tiles = std::count_if(slots.begin(), slots.end(), [](const Slot& slot) {
    return slot.sampling.kind == Sampling::Kind::kPerfectTile;
  });
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const Slot& slot = slots[i];
    if (slot.sampling.kind != Sampling::Kind::kPerfectTile) continue;
    add(kTileSize,
        {Names("block", {slot.block}), Names("loop", {slot.loop}),
         Factors(slot.sampling, decisions[i])},
        Weight(kTileSize) / static_cast<double>(tiles));
  }
  for (std::string_view name : {kParallel, kVectorize}) {
    const bool parallel = name == kParallel;
    const int at =
        sketch->FindAnnotation(parallel ? "meta_schedule.parallel" : "meta_schedule.vectorize");
    if (at < 0) continue;
    add(name,
        {Integers(parallel ? "max_jobs" : "max_extent",
                  Without(AnnotationValues(name), state.choices().annotations[at]))},
        Weight(name));
  }
  if (const int at = sketch->FindUnroll(); at >= 0) {
    const auto& candidates = slots[at].sampling.candidates;
    add(kUnroll, {Integers("max_step", Without(candidates, candidates[decisions[at][0]]))},
        Weight(kUnroll));
  }
  const auto& sites = SitesOf(state);
  const auto movable = std::count_if(sites.begin(), sites.end(), [](const tvm_api::Site& site) {
    return !site.locations.empty();
  });
  for (const tvm_api::Site& site : sites) {
    const int slot = sketch->FindLocation(site.block);
    if (site.locations.empty() || slot < 0) continue;
    std::vector<std::string> names;
    for (const auto& location : site.locations) {
      if (decisions[slot][0] != location.index) names.push_back(LocationName(location));
    }
    add(kComputeLocation, {Names("block", {site.block}), Names("loop", std::move(names))},
        Weight(kComputeLocation) / static_cast<double>(movable));
  }
  return domains;
}

std::vector<Transformation> ScheduleSpace::Neighbours(const search::State& any) {
  const auto& state = static_cast<const ScheduleState&>(any);
  std::vector<Transformation> result;
  if (state.is_root()) return result;
  const Sketch* sketch = SketchAt(state.choices().sketch).value();
  const auto& slots = sketch->slots();
  const auto& decisions = state.choices().decisions;
  const auto add = [&](std::string_view name,
                       std::vector<std::pair<std::string, search::Value>> parameters) {
    result.push_back({std::string(name), std::move(parameters)});
  };
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const Slot& slot = slots[i];
    if (slot.sampling.kind != Sampling::Kind::kPerfectTile) continue;
    for (auto& factors : TileNeighbours(decisions[i], slot.sampling.max_innermost)) {
      add(kTileSize, {{"block", slot.block}, {"loop", slot.loop}, {"factors", std::move(factors)}});
    }
  }
  if (const int at = sketch->FindUnroll(); at >= 0) {
    const auto& candidates = slots[at].sampling.candidates;
    for (int64_t step : Adjacent(candidates, candidates[decisions[at][0]])) {
      add(kUnroll, {{"max_step", step}});
    }
  }
  for (std::string_view name : {kParallel, kVectorize}) {
    const bool parallel = name == kParallel;
    const int at =
        sketch->FindAnnotation(parallel ? "meta_schedule.parallel" : "meta_schedule.vectorize");
    if (at < 0) continue;
    for (int64_t value : Adjacent(AnnotationValues(name), state.choices().annotations[at])) {
      add(name, {{parallel ? "max_jobs" : "max_extent", value}});
    }
  }
  for (const tvm_api::Site& site : SitesOf(state)) {
    const int slot = sketch->FindLocation(site.block);
    if (site.locations.empty() || slot < 0) continue;
    std::vector<int64_t> indices;
    for (const auto& location : site.locations) indices.push_back(location.index);
    for (int64_t index : Adjacent(indices, decisions[slot][0])) {
      const auto at = std::find(indices.begin(), indices.end(), index) - indices.begin();
      add(kComputeLocation, {{"block", site.block}, {"loop", LocationName(site.locations[at])}});
    }
  }
  return result;
}

}  // namespace tw::space
