#include "tune/export.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "base/files.h"
#include "tune/run_directory.h"
#include "tvm/build.h"
#include "tvm/runtime.h"

namespace tw::tune {
namespace {

using tvm_api::Argument;

std::string Identifier(const std::string& name) {
  std::string id;
  for (char c : name) id += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (id.empty() || std::isdigit(static_cast<unsigned char>(id[0]))) id.insert(0, "f_");
  return id;
}

int64_t Elements(const Argument& argument) {
  int64_t count = 1;
  for (int64_t extent : argument.shape) count *= extent;
  return count;
}

// The C type that holds one element; 16-bit floats travel as their bits.
std::string_view CType(DType type) {
  switch (type) {
    case DType::kF32:
      return "float";
    case DType::kF64:
      return "double";
    case DType::kF16:
    case DType::kBF16:
    case DType::kU16:
      return "uint16_t";
    case DType::kI8:
      return "int8_t";
    case DType::kI16:
      return "int16_t";
    case DType::kI32:
      return "int32_t";
    case DType::kI64:
      return "int64_t";
    case DType::kU8:
    case DType::kBool:
      return "uint8_t";
    case DType::kU32:
      return "uint32_t";
    case DType::kU64:
      return "uint64_t";
  }
  return "void";
}

std::string_view DlpackCode(DType type) {
  if (type == DType::kBF16) return "kDLBfloat";
  if (type == DType::kBool) return "kDLBool";
  if (IsFloat(type)) return "kDLFloat";
  return ShortName(type)[0] == 'u' ? "kDLUInt" : "kDLInt";
}

std::string Parameters(const std::vector<Argument>& arguments) {
  std::vector<std::string> parts;
  for (const Argument& a : arguments) {
    parts.push_back(fmt::format("{}{}* {}", a.is_output ? "" : "const ", CType(a.dtype), a.name));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string Header(const std::string& id, const std::vector<Argument>& arguments,
                   const BestProgram& best) {
  std::string text = fmt::format(
      R"(/* {0}: made by Tensorwright for {1}. Measured {2:.4g} ms; numbers checked.
 *
 * Arguments, row-major and contiguous, aligned as their elements are:
)",
      id, best.target.ToJson(), best.measurement.median_s * 1e3);
  for (const Argument& a : arguments) {
    text += fmt::format(" *   {:<8} {:<6} {}[{}]\n", a.name, a.is_output ? "output" : "input",
                        LongName(a.dtype), fmt::join(a.shape, ", "));
  }
  text += fmt::format(R"( *
 * Needs the tvm_ffi headers and libtvm_ffi; link libtvm_runtime too, which runs parallel loops.
 */
#ifndef TENSORWRIGHT_{0}_H_
#define TENSORWRIGHT_{0}_H_

#include <stdint.h>
#include <string.h>
#include <tvm/ffi/c_api.h>

#ifdef __cplusplus
extern "C" {{
#endif

static TVMFFIObjectHandle {0}_function;

/* Loads the library at `path`. Returns 0, or not 0 when it cannot be loaded. */
static inline int {0}_load(const char* path) {{
  TVMFFIByteArray name = {{"ffi.ModuleLoadFromFile", 22}};
  TVMFFIByteArray get = {{"ffi.ModuleGetFunction", 21}};
  TVMFFIObjectHandle load_function = 0, get_function = 0;
  TVMFFIAny argument[3], module, result;
  memset(argument, 0, sizeof argument);
  memset(&module, 0, sizeof module);
  memset(&result, 0, sizeof result);
  if (TVMFFIFunctionGetGlobal(&name, &load_function) || !load_function) return 1;
  if (TVMFFIFunctionGetGlobal(&get, &get_function) || !get_function) return 1;
  argument[0].type_index = kTVMFFIRawStr;
  argument[0].v_c_str = path;
  if (TVMFFIFunctionCall(load_function, argument, 1, &module)) return 1;
  argument[0] = module;
  argument[1].type_index = kTVMFFIRawStr;
  argument[1].v_c_str = "{0}";
  argument[2].type_index = kTVMFFIBool;
  argument[2].v_int64 = 0;
  if (TVMFFIFunctionCall(get_function, argument, 3, &result)) return 1;
  if (result.type_index != kTVMFFIFunction) return 1;
  {0}_function = (TVMFFIObjectHandle)result.v_obj;
  return 0;
}}

/* Runs the program once. Returns 0, or not 0 when the runtime refused. */
static inline int {0}({1}) {{
)",
                      id, Parameters(arguments));
  for (const Argument& a : arguments) {
    if (!a.shape.empty()) {
      text +=
          fmt::format("  static int64_t shape_{}[] = {{{}}};\n", a.name, fmt::join(a.shape, ", "));
    }
  }
  text += fmt::format("  DLTensor tensor[{0}];\n  TVMFFIAny argument[{0}], result;\n  int i;\n",
                      arguments.size());
  text +=
      "  memset(tensor, 0, sizeof tensor);\n  memset(argument, 0, sizeof argument);\n"
      "  memset(&result, 0, sizeof result);\n";
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Argument& a = arguments[i];
    text += fmt::format(
        "  tensor[{0}].data = (void*){1};\n  tensor[{0}].ndim = {2};\n"
        "  tensor[{0}].shape = {3};\n  tensor[{0}].dtype.code = {4};\n"
        "  tensor[{0}].dtype.bits = {5};\n",
        i, a.name, a.shape.size(), a.shape.empty() ? "0" : "shape_" + a.name, DlpackCode(a.dtype),
        SizeOf(a.dtype) * 8);
  }
  text += fmt::format(R"(  for (i = 0; i < {1}; ++i) {{
    tensor[i].device.device_type = kDLCPU;
    tensor[i].dtype.lanes = 1;
    argument[i].type_index = kTVMFFIDLTensorPtr;
    argument[i].v_ptr = &tensor[i];
  }}
  return TVMFFIFunctionCall({0}_function, argument, {1}, &result);
}}

#ifdef __cplusplus
}}
#endif

#endif
)",
                      id, arguments.size());
  return text;
}

std::string CppExample(const std::string& id, const std::vector<Argument>& arguments) {
  std::string text = fmt::format(
      "#include <cstdio>\n#include <vector>\n\n#include \"{0}.h\"\n\nint main() {{\n"
      "  if ({0}_load(\"./{0}.so\") != 0) return 1;\n",
      id);
  std::vector<std::string> names;
  std::string output;
  for (const Argument& a : arguments) {
    text += fmt::format("  std::vector<{}> {}({}, 1);\n", CType(a.dtype), a.name, Elements(a));
    names.push_back(a.name + ".data()");
    if (a.is_output) output = a.name;
  }
  text += fmt::format("  if ({}({}) != 0) return 1;\n", id, fmt::join(names, ", "));
  text +=
      fmt::format("  std::printf(\"{0}[0] = %g\\n\", static_cast<double>({0}[0]));\n}}\n", output);
  return text;
}

std::string PythonExample(const std::string& id, const std::vector<Argument>& arguments) {
  std::string text = fmt::format(
      "import numpy as np\nimport tvm  # its runtime runs parallel loops\nimport tvm_ffi\n\n"
      "{0} = tvm_ffi.load_module(\"./{0}.so\")[\"{0}\"]\n",
      id);
  std::vector<std::string> names;
  std::string output;
  for (const Argument& a : arguments) {
    text += fmt::format("{} = np.ones(({}{}), dtype=\"{}\")\n", a.name, fmt::join(a.shape, ", "),
                        a.shape.size() == 1 ? "," : "", LongName(a.dtype));
    names.push_back(fmt::format("tvm_ffi.from_dlpack({})", a.name));
    if (a.is_output) output = a.name;
  }
  text += fmt::format("{}({})\nprint(\"{} =\", {}.flat[0])\n", id, fmt::join(names, ", "),
                      output + "[0]", output);
  return text;
}

// The interpreter whose packages stand in `site`, PREFIX/lib/pythonX.Y/site-packages.
std::string PythonOf(const std::filesystem::path& site) {
  const auto python = site.parent_path().parent_path().parent_path() / "bin" / "python3";
  std::error_code ignored;
  if (std::filesystem::exists(python, ignored)) return python.string();
  return fmt::format("PYTHONPATH={} python3", site.string());
}

}  // namespace

Result<Exported> ExportBest(const std::filesystem::path& run_dir,
                            const std::filesystem::path& output, const std::string& name) {
  TW_TRY(RunDirectory run, RunDirectory::OpenReadOnly(run_dir));
  TW_TRY(BestProgram best, ReadBest(run));
  TW_TRY(std::vector<Argument> arguments, best.unscheduled.Arguments());
  const std::filesystem::path folder = output.empty() ? run_dir / "export" : output;
  const std::string id = Identifier(name.empty() ? best.workload : name);
  TW_CHECK(CreateDirectories(folder, Code::kUsage));

  Exported exported;
  const std::filesystem::path library = folder / (id + ".so");
  TW_CHECK(tvm_api::ExportLibrary(best.schedule.GetModule(), best.target, id, library));
  exported.files.push_back(library);
  const std::pair<std::string, std::string> texts[] = {
      {id + ".h", Header(id, arguments, best)},
      {"example.cc", CppExample(id, arguments)},
      {"example.py", PythonExample(id, arguments)},
  };
  for (const auto& [file, text] : texts) {
    TW_CHECK(WriteFileAtomic(folder / file, text, Code::kUsage));
    exported.files.push_back(folder / file);
  }
  TW_TRY(tvm_api::Versions versions, tvm_api::Load());
  exported.cpp_command = fmt::format(
      "cd {0} && c++ example.cc -I{1}/tvm_ffi/include -L{1}/tvm_ffi/lib -L{1}/tvm/lib "
      "-Wl,-rpath,{1}/tvm_ffi/lib:{1}/tvm/lib -Wl,--no-as-needed -ltvm_ffi -ltvm_runtime "
      "-o example && ./example",
      folder.string(), versions.site_packages);
  exported.python_command =
      fmt::format("cd {} && {} example.py", folder.string(), PythonOf(versions.site_packages));
  return exported;
}

}  // namespace tw::tune
