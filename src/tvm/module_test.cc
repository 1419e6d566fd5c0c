#include "tvm/module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "tvm/ffi.h"
#include "tvm/runtime.h"
#include "tvm/testing.h"

namespace tw::tvm_api {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::json;
using List = ffi::Array<Any>;

class ModuleTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const Result<Versions> versions = Load();
    ASSERT_TRUE(versions.ok()) << versions.error().message;
  }
  static void ExpectError(const std::string& json, const std::string& part) {
    const Result<Module> module = Module::FromJson(json);
    ASSERT_FALSE(module.ok()) << json.substr(0, 200);
    EXPECT_EQ(module.error().code, Code::kUsage);
    EXPECT_THAT(module.error().message, HasSubstr(part));
  }
  // The JSON graph of a small module, to be broken.
  static Json Graph() { return Json::parse(testing::Elementwise({2, 3}).ToJson()); }
  // The index of the first node of `type`.
  static std::size_t Find(const Json& graph, const std::string& type) {
    for (std::size_t i = 0; i < graph["nodes"].size(); ++i) {
      if (graph["nodes"][i]["type"] == type) return i;
    }
    ADD_FAILURE() << "no " << type;
    return 0;
  }
};

TEST_F(ModuleTest, JsonRoundTrip) {
  const Module module = testing::Matmul(4, 8, 16);
  const Result<Module> copy = Module::FromJson(module.ToJson());
  ASSERT_TRUE(copy.ok()) << copy.error().message;
  EXPECT_TRUE(copy->StructuralEqual(module));
  EXPECT_EQ(copy->StructuralHash(), module.StructuralHash());
  EXPECT_EQ(copy->Script(), module.Script());
  EXPECT_EQ(Json::parse(module.ToJson())["metadata"]["tvm_version"], kTvmVersion);
}

TEST_F(ModuleTest, StructureTellsModulesApart) {
  const Module module = testing::Matmul(4, 8, 16);
  EXPECT_TRUE(module.StructuralEqual(testing::Matmul(4, 8, 16)));
  EXPECT_EQ(module.StructuralHash(), testing::Matmul(4, 8, 16).StructuralHash());
  EXPECT_FALSE(module.StructuralEqual(testing::Matmul(4, 8, 17)));
  EXPECT_NE(module.StructuralHash(), testing::Matmul(4, 8, 17).StructuralHash());
  EXPECT_FALSE(testing::Elementwise({4}, 2).StructuralEqual(testing::Elementwise({4}, 3)));
}

TEST_F(ModuleTest, StructureIgnoresVariableNames) {
  std::string json = testing::Elementwise({4}).ToJson();
  const std::string name = "\"v_i0\"";
  json.replace(json.find(name), name.size(), "\"other\"");
  const Result<Module> renamed = Module::FromJson(json);
  ASSERT_TRUE(renamed.ok()) << renamed.error().message;
  EXPECT_TRUE(renamed->StructuralEqual(testing::Elementwise({4})));
  EXPECT_EQ(renamed->StructuralHash(), testing::Elementwise({4}).StructuralHash());
}

TEST_F(ModuleTest, Arguments) {
  const Module module = testing::Matmul(4, 8, 16, DType::kF16);
  EXPECT_EQ(module.FunctionName(), "main");
  const Result<std::vector<Argument>> arguments = module.Arguments();
  ASSERT_TRUE(arguments.ok()) << arguments.error().message;
  ASSERT_EQ(arguments->size(), 3u);
  EXPECT_EQ((*arguments)[0].name, "A");
  EXPECT_THAT((*arguments)[0].shape, ElementsAre(4, 16));
  EXPECT_EQ((*arguments)[0].dtype, DType::kF16);
  EXPECT_FALSE((*arguments)[0].is_output);
  EXPECT_THAT((*arguments)[1].shape, ElementsAre(16, 8));
  EXPECT_FALSE((*arguments)[1].is_output);
  EXPECT_EQ((*arguments)[2].name, "C");
  EXPECT_THAT((*arguments)[2].shape, ElementsAre(4, 8));
  EXPECT_TRUE((*arguments)[2].is_output);
}

TEST_F(ModuleTest, ScriptIsTvmScript) {
  EXPECT_THAT(testing::Matmul(4, 8, 16).Script(), HasSubstr("for i, j, k in T.grid(4, 8, 16)"));
}

TEST_F(ModuleTest, NotAGraph) {
  ExpectError("", "not valid JSON");
  ExpectError("{", "not valid JSON");
  ExpectError("[]", "save_json");
  ExpectError("null", "save_json");
  ExpectError("{}", "save_json");
  ExpectError(R"({"root_index":0,"nodes":5})", "save_json");
  ExpectError(R"({"root_index":0,"nodes":[]})", "root_index");
  ExpectError(R"({"root_index":-1,"nodes":[{"type":"None"}]})", "root_index");
  ExpectError(R"({"root_index":0.5,"nodes":[{"type":"None"}]})", "root_index");
  ExpectError(R"({"root_index":0,"nodes":[{"type":"None"}]})", "IRModule");
  ExpectError(R"({"root_index":0,"nodes":[{"type":"no.such"}]})", "no.such");
  ExpectError(R"({"root_index":0,"nodes":[{"type":"int"}]})", "data");
  ExpectError(R"({"root_index":0,"nodes":[{"type":"int","data":"x"}]})", "");
  ExpectError(R"({"root_index":0,"nodes":[{"type":"ffi.Array","data":[0]}]})", "earlier node");
  ExpectError(std::string(100000, '['), "not valid JSON");
  ExpectError(std::string(100000, '[') + std::string(100000, ']'), "save_json");
}

TEST_F(ModuleTest, GraphsThatTvmWouldCrashOn) {
  Json cyclic = Graph();
  const std::size_t loop = Find(cyclic, "tirx.For");
  cyclic["nodes"][loop]["data"]["body"] = loop;
  ExpectError(cyclic.dump(), "earlier node");

  Json empty = Graph();
  ASSERT_EQ(empty["nodes"][0]["type"], "None");
  empty["nodes"][Find(empty, "tirx.PrimFunc")]["data"]["body"] = 0;
  ExpectError(empty.dump(), "field body is empty");

  Json element = Graph();
  const std::size_t store = Find(element, "tirx.BufferStore");
  element["nodes"][element["nodes"][store]["data"]["indices"].get<std::size_t>()]["data"][0] = 0;
  ExpectError(element.dump(), "field indices is empty");

  Json deep = {{"root_index", 100000}, {"nodes", Json::array({{{"type", "None"}}})}};
  for (int i = 0; i < 100000; ++i) {
    deep["nodes"].push_back({{"type", "ffi.Array"}, {"data", {i}}});
  }
  ExpectError(deep.dump(), "deep");
}

TEST_F(ModuleTest, TruncatedTextIsAnError) {
  const std::string json = testing::Elementwise({2, 3}).ToJson();
  for (std::size_t length = 0; length < json.size(); length += 37) {
    EXPECT_FALSE(Module::FromJson(json.substr(0, length)).ok()) << length;
  }
}

// Swaps references and values at random. Whatever is accepted must print and hash without a crash.
TEST_F(ModuleTest, BrokenGraphsDoNotCrash) {
  const Json graph = Graph();
  Random random(7);
  int accepted = 0;
  constexpr int kTries = 400;
  for (int i = 0; i < kTries; ++i) {
    Json broken = graph;
    Json& node = broken["nodes"][random.Below(graph["nodes"].size())];
    if (!node.contains("data")) continue;
    Json* place = &node["data"];
    if (place->is_structured() && !place->empty()) {
      auto it = place->begin();
      std::advance(it, random.Below(place->size()));
      place = &*it;
    }
    const Json values[] = {nullptr,
                           true,
                           -1,
                           1.5,
                           "float32",
                           Json::array(),
                           Json::object(),
                           random.Below(graph["nodes"].size()),
                           random.Below(3)};
    *place = values[random.Below(std::size(values))];
    const Result<Module> module = Module::FromJson(broken.dump());
    if (!module.ok()) continue;
    ++accepted;
    try {
      module->Script();
      module->StructuralHash();
    } catch (const std::exception&) {  // an error is fine, a crash is not
    }
  }
  EXPECT_LT(accepted, kTries / 2);
}

// Replaces the one function of a module.
Module WithFunctions(const Module& module, const std::vector<std::string>& names) {
  ffi::Map<Any, Any> functions;
  for (const auto& [variable, function] :
       GetField(Get(module), "functions").cast<ffi::Map<Any, Any>>()) {
    for (const std::string& name : names) {
      functions.Set(Call("ir.GlobalVar", ffi::String(name)), function);
    }
  }
  return Wrap<Module>(
      Call("ir.IRModule", functions, GetField(Get(module), "attrs"), ffi::Map<ffi::String, Any>()));
}

TEST_F(ModuleTest, NeedsOnePrimFunc) {
  const Module module = testing::Elementwise({4});
  ExpectError(WithFunctions(module, {}).ToJson(), "no PrimFunc");
  ExpectError(WithFunctions(module, {"second", "first"}).ToJson(), "2 PrimFuncs (first, second)");
  const Module function =
      Wrap<Module>((*GetField(Get(module), "functions").cast<ffi::Map<Any, Any>>().begin()).second);
  ExpectError(function.ToJson(), "a tirx.PrimFunc is given where an ir.IRModule is needed");
}

TEST_F(ModuleTest, NamesSymbolicDimensions) {
  Json graph = Json::parse(testing::Elementwise({4}).ToJson());
  const std::size_t type = Find(graph, "tirx.BufferType");
  const std::size_t shape = graph["nodes"][type]["data"]["shape"];
  const std::size_t extent = graph["nodes"][shape]["data"][0];
  Json& node = graph["nodes"][extent];
  ASSERT_EQ(node["type"], "ir.IntImm");
  // A variable in the constant's place: its name is the function's.
  node = {{"type", "ir.Var"},
          {"data", {{"span", 0}, {"ty", node["data"]["ty"]}, {"name", Find(graph, "ffi.String")}}}};
  ASSERT_LT(Find(graph, "ffi.String"), extent);
  const std::string name = graph["nodes"][Find(graph, "ffi.String")]["data"];
  ExpectError(graph.dump(), "argument A: dimension 0 is symbolic (" + name);
}

TEST_F(ModuleTest, NamesUnknownElementTypes) {
  std::string json = testing::Elementwise({4}).ToJson();
  for (std::size_t at; (at = json.find("\"float32\"")) != std::string::npos;) {
    json.replace(at, 9, "\"float8_e4m3fn\"");
  }
  ExpectError(json, "argument A has element type float8_e4m3fn");
}

TEST_F(ModuleTest, NamesScalarArguments) {
  const Module module = testing::Elementwise({4});
  const Any function =
      (*GetField(Get(module), "functions").cast<ffi::Map<Any, Any>>().begin()).second;
  List parameters = GetField(function, "params").cast<List>();
  parameters.push_back(Call("ir.Var", ffi::String("count"),
                            Call("ir.PrimType", DLDataType{kDLInt, 32, 1}), nullptr));
  const Any with_scalar = Call("tirx.PrimFunc", parameters, GetField(function, "body"),
                               Call("ir.TypeMissing"), GetField(function, "attrs"), nullptr);
  ffi::Map<Any, Any> functions;
  functions.Set(Call("ir.GlobalVar", ffi::String("main")), with_scalar);
  const Module broken = Wrap<Module>(
      Call("ir.IRModule", functions, GetField(Get(module), "attrs"), ffi::Map<ffi::String, Any>()));
  ExpectError(broken.ToJson(), "argument count is a scalar");
}

}  // namespace
}  // namespace tw::tvm_api
