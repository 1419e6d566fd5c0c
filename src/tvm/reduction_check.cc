#include "tvm/reduction_check.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tvm/reflect.h"

namespace tw::tvm_api {
namespace {

using List = ffi::Array<Any>;
using Identity = const void*;
using Identities = std::unordered_set<Identity>;

Identity IdentityOf(const Any& object) { return object.cast<ffi::ObjectRef>().get(); }

struct Loop {
  Identity variable;
  std::string name;
  bool single;  // runs once
};

struct Block {
  std::string name;
  std::vector<Loop> loops;  // around it, outermost first
  Identities used;          // loop variables that its axes are made of
  Identities writes;
  bool reduces = false;      // has a reduction axis
  bool initialises = false;  // carries its initialisation in itself
};

class Walker {
 public:
  void Visit(const Any& statement) {
    const std::string key = statement.GetTypeKey();
    if (key == "tirx.For") {
      VisitLoop(statement);
    } else if (key == "s_tir.SBlockRealize") {
      VisitBlock(statement);
    } else if (key == "tirx.SeqStmt") {
      static const Field kSeq("tirx.SeqStmt", "seq");
      for (const Any& item : kSeq(statement).cast<List>()) Visit(item);
    } else if (key == "tirx.AttrStmt") {
      static const Field kBody("tirx.AttrStmt", "body");
      Visit(kBody(statement));
    } else if (key == "tirx.IfThenElse") {
      static const Field kThen("tirx.IfThenElse", "then_case");
      static const Field kElse("tirx.IfThenElse", "else_case");
      Visit(kThen(statement));
      if (const Any other = kElse(statement); other != nullptr) Visit(other);
    }
  }

  const std::vector<Block>& blocks() const { return blocks_; }

 private:
  void VisitLoop(const Any& loop) {
    static const Field kVar("tirx.For", "loop_var");
    static const Field kExtent("tirx.For", "extent");
    static const Field kBody("tirx.For", "body");
    static const Field kName("ir.Var", "name");
    const Any variable = kVar(loop);
    const Any extent = kExtent(loop);
    const bool single = extent.GetTypeKey() == "ir.IntImm" && IntegerOf(extent) == 1;
    meaning_[IdentityOf(variable)] = {IdentityOf(variable)};
    loops_.push_back({IdentityOf(variable), kName(variable).cast<ffi::String>(), single});
    Visit(kBody(loop));
    loops_.pop_back();
  }

  void VisitBlock(const Any& realize) {
    static const Field kValues("s_tir.SBlockRealize", "iter_values");
    static const Field kBlock("s_tir.SBlockRealize", "block");
    static const Field kAxes("s_tir.SBlock", "iter_vars");
    static const Field kWrites("s_tir.SBlock", "writes");
    static const Field kName("s_tir.SBlock", "name_hint");
    static const Field kInit("s_tir.SBlock", "init");
    static const Field kBody("s_tir.SBlock", "body");
    static const Field kVar("tirx.IterVar", "var");
    static const Field kKind("tirx.IterVar", "iter_type");
    static const Field kSource("ir.TensorRegion", "source");
    constexpr int64_t kReduction = 2;

    const Any node = kBlock(realize);
    const List values = kValues(realize).cast<List>();
    const List axes = kAxes(node).cast<List>();
    Block block;
    block.name = kName(node).cast<ffi::String>();
    block.loops = loops_;
    block.initialises = kInit(node) != nullptr;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      Identities used;
      Collect(values[i], used);
      block.used.insert(used.begin(), used.end());
      block.reduces |= IntegerOf(kKind(axes[i])) == kReduction;
      meaning_[IdentityOf(kVar(axes[i]))] = std::move(used);
    }
    for (const Any& region : kWrites(node).cast<List>()) {
      block.writes.insert(IdentityOf(kSource(region)));
    }
    blocks_.push_back(std::move(block));
    Visit(kBody(node));
  }

  // The loop variables that an expression depends on, through the axes of enclosing blocks.
  void Collect(const Any& expression, Identities& used) const {
    if (expression == nullptr) return;
    const auto object = expression.as<ffi::ObjectRef>();
    if (!object) return;
    if (auto it = meaning_.find(object->get()); it != meaning_.end()) {
      used.insert(it->second.begin(), it->second.end());
      return;
    }
    if (auto list = expression.as<List>()) {
      for (const Any& item : *list) Collect(item, used);
      return;
    }
    const TVMFFITypeInfo* type = TVMFFIGetTypeInfo(object->type_index());
    ffi::reflection::ForEachFieldInfo(type, [&](const TVMFFIFieldInfo* field) {
      Collect(ffi::reflection::FieldGetter(field)(*object), used);
    });
  }

  std::vector<Loop> loops_;
  std::unordered_map<Identity, Identities> meaning_;  // variable -> loop variables it stands for
  std::vector<Block> blocks_;
};

bool Inside(const Block& block, const Loop& loop) {
  return std::any_of(block.loops.begin(), block.loops.end(),
                     [&](const Loop& l) { return l.variable == loop.variable; });
}

std::optional<std::string> Check(const std::vector<Block>& blocks) {
  for (const Block& update : blocks) {
    if (!update.reduces || update.initialises) continue;
    for (const Loop& loop : update.loops) {
      if (loop.single || update.used.count(loop.variable)) continue;
      const bool reset_inside = std::any_of(blocks.begin(), blocks.end(), [&](const Block& other) {
        return &other != &update && !other.reduces && Inside(other, loop) &&
               std::any_of(update.writes.begin(), update.writes.end(),
                           [&](Identity buffer) { return other.writes.count(buffer) > 0; });
      });
      if (reset_inside) continue;
      return fmt::format(
          "block {} is summed again in every turn of loop {}, but initialised outside of it",
          update.name, loop.name);
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> FindRepeatedReduction(const Module& module) {
  static const Field kFunctions("ir.IRModule", "functions");
  static const Field kBody("tirx.PrimFunc", "body");
  for (const auto& [name, function] : kFunctions(Get(module)).cast<ffi::Map<Any, Any>>()) {
    if (function.GetTypeKey() != "tirx.PrimFunc") continue;
    Walker walker;
    walker.Visit(kBody(function));
    if (auto found = Check(walker.blocks())) return found;
  }
  return std::nullopt;
}

}  // namespace tw::tvm_api
