#include "tvm/link.h"

#include <algorithm>
#include <chrono>
#include <string>

#include "base/subprocess.h"

namespace tw::tvm_api {
namespace {

constexpr std::chrono::seconds kDeadline{300};
constexpr std::size_t kMaxOutput = 4096;  // bytes of the linker's output that an error quotes

}  // namespace

Status LinkSharedLibrary(const std::filesystem::path& object,
                         const std::filesystem::path& library) {
  Subprocess::Options options;
  options.program = "cc";
  options.arguments = {"-shared", "-o", library.string(), object.string()};
  const Result<Finished> finished = RunProgram(options, kDeadline);
  if (!finished) {
    return Fail(Code::kEnvironment,
                "cannot link with the C compiler `cc`: {}. Install one, e.g. `apt install gcc`",
                finished.error().message);
  }
  if (finished->status.code == 0 && finished->status.signal == 0) return Ok();
  const std::string& output = finished->output;
  return Fail(Code::kInternal, "`cc -shared` on {} ended with {}: {}", object.string(),
              finished->status.ToString(),
              output.substr(output.size() - std::min(output.size(), kMaxOutput)));
}

}  // namespace tw::tvm_api
