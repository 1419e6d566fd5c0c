#include "space/sketch.h"

#include <algorithm>
#include <map>
#include <set>

namespace tw::space {

using tvm_api::Sampling;

Result<Sketch> Sketch::Make(const tvm_api::Module& module, const tvm_api::Trace& trace) {
  Sketch sketch;
  sketch.trace_ = trace;
  sketch.annotations_ = trace.Annotations();
  TW_TRY(const auto sites, tvm_api::FindSites(module, trace));
  std::map<int, const tvm_api::Site*> by_instruction;
  for (const auto& site : sites) by_instruction[site.instruction] = &site;
  std::set<std::pair<std::string, std::string>> taken;
  for (const Sampling& sampling : trace.Samplings()) {
    Slot slot{sampling, "", ""};
    if (auto it = by_instruction.find(sampling.instruction); it != by_instruction.end()) {
      slot.block = it->second->block;
      slot.loop = it->second->loop;
    }
    if (sampling.kind == Sampling::Kind::kPerfectTile) {
      // A loop that is tiled twice (first for rfactor, say) gets a number.
      const std::string name = slot.loop;
      for (int n = 2; !taken.emplace(slot.block, slot.loop).second; ++n) {
        slot.loop = fmt::format("{}_{}", name, n);
      }
    }
    sketch.slots_.push_back(std::move(slot));
  }
  return sketch;
}

int Sketch::FindTile(const std::string& block, const std::string& loop) const {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    if (slot.sampling.kind == Sampling::Kind::kPerfectTile && slot.block == block &&
        slot.loop == loop) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

int Sketch::FindLocation(const std::string& block) const {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].sampling.kind == Sampling::Kind::kComputeLocation && slots_[i].block == block) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

int Sketch::FindUnroll() const {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].sampling.kind == Sampling::Kind::kCategorical &&
        slots_[i].sampling.annotates.starts_with("meta_schedule.unroll_")) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

int Sketch::FindAnnotation(const std::string& key) const {
  for (std::size_t i = 0; i < annotations_.size(); ++i) {
    if (annotations_[i].key == key) return static_cast<int>(i);
  }
  return -1;
}

std::string Sketch::TileNames() const {
  std::string names;
  for (const Slot& slot : slots_) {
    if (slot.sampling.kind != Sampling::Kind::kPerfectTile) continue;
    names += fmt::format("{}{}.{}", names.empty() ? "" : ", ", slot.block, slot.loop);
  }
  return names.empty() ? "none" : names;
}

std::string Sketch::LocationNames() const {
  std::string names;
  for (const Slot& slot : slots_) {
    if (slot.sampling.kind != Sampling::Kind::kComputeLocation) continue;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", slot.block);
  }
  return names.empty() ? "none" : names;
}

tvm_api::Trace Sketch::TraceOf(const Choices& choices) const {
  std::vector<tvm_api::Decision> decisions;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (choices.decisions[i].empty()) continue;
    decisions.emplace_back(slots_[i].sampling.instruction, choices.decisions[i]);
  }
  std::vector<std::pair<int, int64_t>> values;
  for (std::size_t i = 0; i < annotations_.size(); ++i) {
    values.emplace_back(annotations_[i].instruction, choices.annotations[i]);
  }
  return trace_.With(decisions, values);
}

Choices Sketch::Open(int index) const {
  Choices choices;
  choices.sketch = index;
  choices.decisions.resize(slots_.size());
  for (const auto& annotation : annotations_) choices.annotations.push_back(annotation.value);
  return choices;
}

Choices Sketch::Taken(int index, const Choices& asked, const tvm_api::Trace& replayed) const {
  Choices choices;
  choices.sketch = index;
  choices.annotations = asked.annotations;
  for (Sampling& sampling : replayed.Samplings()) {
    choices.decisions.push_back(std::move(sampling.decision));
  }
  return choices;
}

std::string LocationName(const tvm_api::Site::Location& location) {
  return location.index < 0 ? location.name : fmt::format("L{}_{}", location.index, location.name);
}

}  // namespace tw::space
