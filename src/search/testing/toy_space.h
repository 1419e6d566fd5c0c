// A space with a known optimum, in microseconds: three loops to be split and an unroll step. For
// tests.
#pragma once

#include <cmath>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "search/evaluator.h"
#include "search/space.h"

namespace tw::search::testing {

// Factors of each loop, and an index into the unroll steps; empty for the root.
struct ToyState : State {
  std::vector<std::vector<int64_t>> tiles;
  int64_t unroll = 0;
};

class ToySpace : public Space {
 public:
  explicit ToySpace(std::vector<int64_t> extents = {64, 48, 96}, int parts = 3)
      : extents_(std::move(extents)), parts_(parts), root_(std::make_shared<ToyState>()) {}

  StatePtr Root() override { return root_; }

  std::vector<Domain> Domains(const State& state) override {
    if (IsRoot(state)) {
      Parameter sample{"sample", Parameter::Kind::kInteger, {}, {}, 1, 1, 0};
      for (int64_t i = 1; i <= 64; ++i) sample.integers.push_back(i);
      return {{"Sketch", {sample}, 1}};
    }
    std::vector<Domain> domains;
    for (std::size_t l = 0; l < extents_.size(); ++l) {
      Parameter loop{"loop", Parameter::Kind::kInteger, {static_cast<int64_t>(l)}, {}, 1, 1, 0};
      Parameter factors{"factors", Parameter::Kind::kFactors, {}, {}, extents_[l], parts_, 0};
      domains.push_back({"TileSize", {loop, factors}, 1});
    }
    domains.push_back(
        {"Unroll", {{"step", Parameter::Kind::kInteger, {0, 1, 2, 3}, {}, 1, 1, 0}}, 1});
    return domains;
  }

  Result<StatePtr> Apply(const StatePtr& from, const Transformation& t) override {
    bool allowed = false;
    for (const Domain& d : Domains(*from)) allowed |= CheckAgainst(d, t).ok();
    if (!allowed) return Fail(Code::kUsage, "{} does not apply", ToString(t));
    if (t.name == "Sketch") {
      Random random(static_cast<uint64_t>(std::get<int64_t>(*t.Find("sample"))));
      return RandomState(random);
    }
    auto next = std::make_shared<ToyState>(Of(*from));
    if (t.name == "Unroll") {
      next->unroll = std::get<int64_t>(*t.Find("step"));
    } else {
      const auto loop = static_cast<std::size_t>(std::get<int64_t>(*t.Find("loop")));
      next->tiles[loop] = std::get<std::vector<int64_t>>(*t.Find("factors"));
    }
    return StatePtr(next);
  }

  std::string Key(const State& state) override { return Encode(state); }

  Result<StatePtr> RandomState(Random& random) override {
    auto state = std::make_shared<ToyState>();
    for (int64_t extent : extents_) {
      const auto all = Factorizations(extent, parts_, 0);
      state->tiles.push_back(all[random.Below(all.size())]);
    }
    state->unroll = static_cast<int64_t>(random.Below(4));
    return StatePtr(state);
  }

  std::vector<Transformation> Neighbours(const State& state) override {
    std::vector<Transformation> all;
    const ToyState& s = Of(state);
    for (std::size_t l = 0; l < s.tiles.size(); ++l) {
      for (std::size_t a = 0; a < s.tiles[l].size(); ++a) {
        for (std::size_t b = 0; b < s.tiles[l].size(); ++b) {
          for (int64_t p : {2, 3}) {
            if (a == b || s.tiles[l][a] % p != 0) continue;
            std::vector<int64_t> factors = s.tiles[l];
            factors[a] /= p;
            factors[b] *= p;
            all.push_back({"TileSize", {{"loop", static_cast<int64_t>(l)}, {"factors", factors}}});
          }
        }
      }
    }
    for (int64_t step : {s.unroll - 1, s.unroll + 1}) {
      if (step >= 0 && step < 4) all.push_back({"Unroll", {{"step", step}}});
    }
    return all;
  }

  std::string Encode(const State& state) override {
    std::string text = IsRoot(state) ? "root" : std::to_string(Of(state).unroll);
    for (const auto& tile : Of(state).tiles) {
      for (int64_t f : tile) text += " " + std::to_string(f);
    }
    return text;
  }

  Result<StatePtr> Decode(const std::string& text) override {
    if (text == "root") return root_;
    auto state = std::make_shared<ToyState>();
    std::size_t at = 0, used = 0;
    auto next = [&] {
      const int64_t value = std::stoll(text.substr(at), &used);
      at += used;
      return value;
    };
    state->unroll = next();
    for (std::size_t l = 0; l < extents_.size(); ++l) {
      std::vector<int64_t> tile;
      for (int p = 0; p < parts_; ++p) tile.push_back(next());
      state->tiles.push_back(tile);
    }
    return StatePtr(state);
  }

  // Smallest, 1, where every innermost factor is 4, every middle one 2 and the unroll step is 2;
  // each factor of two away from there costs a half more.
  double Latency(const State& state) const {
    double cost = 1;
    for (const auto& tile : Of(state).tiles) {
      cost *= 1 + 0.5 * std::fabs(std::log2(static_cast<double>(tile.back()) / 4));
      if (tile.size() > 2) cost *= 1 + 0.2 * std::fabs(std::log2(static_cast<double>(tile[1]) / 2));
    }
    return cost * (1 + 0.3 * std::fabs(static_cast<double>(Of(state).unroll) - 2));
  }

  static bool IsRoot(const State& state) { return Of(state).tiles.empty(); }

 private:
  static const ToyState& Of(const State& state) { return static_cast<const ToyState&>(state); }

  std::vector<int64_t> extents_;
  int parts_;
  StatePtr root_;
};

// A cost model that is right up to a factor that depends on the program (noise = 0: right).
class ToyModel : public CostModel {
 public:
  explicit ToyModel(ToySpace& space, double noise = 0) : space_(space), noise_(noise) {}

  std::vector<double> Predict(std::span<const StatePtr> states) override {
    std::vector<double> scores;
    for (const StatePtr& s : states) {
      const std::size_t hash = std::hash<std::string>()(space_.Key(*s));
      const double factor = 1 + noise_ * (static_cast<double>(hash % 1000) / 500 - 1);
      scores.push_back(ToySpace::IsRoot(*s) ? 0 : factor / space_.Latency(*s));
    }
    return scores;
  }

 private:
  ToySpace& space_;
  double noise_;
};

}  // namespace tw::search::testing
