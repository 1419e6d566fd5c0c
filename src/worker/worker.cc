#include "worker/worker.h"

#include <cmath>
#include <cstring>
#include <new>

#include "tvm/schedule.h"
#include "verify/element.h"

namespace tw::worker {
namespace {

using measure::FailureKind;

Json Failure(FailureKind kind, const std::string& message) {
  return {{"failure", Name(kind)}, {"message", message}};
}

int64_t Elements(const tvm_api::TensorView& view) {
  int64_t count = 1;
  for (const int64_t extent : view.shape) count *= extent;
  return count;
}

// Of no elements: false.
bool AllNan(const tvm_api::TensorView& view) {
  if (!IsFloat(view.dtype) || Elements(view) == 0) return false;
  for (int64_t i = 0; i < Elements(view); ++i) {
    if (!std::isnan(verify::Element(view.dtype, view.data, i))) return false;
  }
  return true;
}

}  // namespace

void Worker::Phase(const char* name) {
  (void)measure::WriteBytes(frames_fd_, measure::EncodeFrame({{"phase", name}})).ok();
}

Json Worker::Handle(const Json& message) {
  try {
    const std::string op = message.value("op", "");
    if (op == "load") return Load(message);
    if (!workload_) return Failure(FailureKind::kGarbage, "no workload is loaded");
    if (op == "build") return BuildAndCheck(message);
    if (op == "time") return Time(message);
    if (op == "save") return Save(message);
    return Failure(FailureKind::kGarbage, "no such request: " + op);
  } catch (const std::bad_alloc&) {
    return Failure(FailureKind::kOutOfMemory, "no memory left");
  } catch (const Json::exception& e) {
    return Failure(FailureKind::kGarbage, e.what());
  }
}

Json Worker::Load(const Json& message) {
  auto load = [&]() -> Status {
    TW_TRY(workload_, tvm_api::Module::FromJson(message.at("module").get<std::string>()));
    TW_TRY(target_, tvm_api::Target::Parse(message.at("target").get<std::string>(), 1));
    references_.clear();
    for (const auto& path : message.at("references")) {
      TW_TRY(verify::Reference reference, verify::Reference::Load(path.get<std::string>()));
      references_.push_back(std::move(reference));
    }
    if (references_.empty()) return Fail(Code::kInternal, "no reference was given");
    TW_TRY(buffers_, verify::Buffers::Allocate(references_.front()));
    return Ok();
  };
  built_.clear();
  if (Status status = load(); !status.ok()) {
    workload_.reset();
    return Failure(FailureKind::kBuildError, status.error().message);
  }
  return Json::object();
}

Result<tvm_api::Module> Worker::ModuleOf(const Json& message, FailureKind* kind) const {
  *kind = FailureKind::kScheduleError;
  const std::string trace = message.value("trace", "");
  if (!trace.empty()) {
    TW_TRY(tvm_api::Schedule schedule, tvm_api::Schedule::ReplayJson(*workload_, trace));
    return schedule.GetModule();
  }
  const std::string module = message.value("module", "");
  if (!module.empty()) return tvm_api::Module::FromJson(module);
  return *workload_;
}

std::string Worker::Check(const tvm_api::Executable& program, double* worst) const {
  if (auto wrong = buffers_->Check(references_, worst)) return *wrong;
  return references_.front().outputs.empty() ? CheckWritten(program) : "";
}

std::string Worker::CheckWritten(const tvm_api::Executable& program) const {
  for (std::size_t i = 0; i < buffers_->views().size(); ++i) {
    const tvm_api::Argument& argument = references_.front().arguments[i];
    const tvm_api::TensorView& view = buffers_->views()[i];
    if (!argument.is_output || !AllNan(view)) continue;
    // Either a result of these inputs, or what became of the sentinel.
    std::memset(view.data, 0, static_cast<std::size_t>(Elements(view)) * SizeOf(view.dtype));
    if (Status status = program.Run(buffers_->views()); !status.ok()) return status.error().message;
    if (AllNan(view)) continue;
    return fmt::format(
        "{} depends on what was in it before the call: the program never writes it, or reads it "
        "first; programs that update an argument in place cannot be checked",
        argument.name);
  }
  return "";
}

Json Worker::BuildAndCheck(const Json& message) {
  const auto id = message.at("id").get<int64_t>();
  built_.erase(id);
  double start = measure::MonotonicSeconds();
  Phase("building");
  Inject(faults_, "build", id, frames_fd_);
  FailureKind kind = FailureKind::kNone;
  Result<tvm_api::Module> module = ModuleOf(message, &kind);
  if (!module.ok()) return Failure(kind, module.error().message);
  Result<tvm_api::Executable> built = tvm_api::Build(*module, *target_);
  if (!built.ok()) return Failure(FailureKind::kBuildError, built.error().message);
  Json answer{{"module_hash", module->StructuralHash()},
              {"build_s", measure::MonotonicSeconds() - start}};

  start = measure::MonotonicSeconds();
  Phase("checking");
  Inject(faults_, "check", id, frames_fd_);
  buffers_->FillOutputsWithSentinel();
  if (Status status = built->Run(buffers_->views()); !status.ok()) {
    answer.update(Failure(FailureKind::kRunError, status.error().message));
  } else {
    if (Due(faults_, "wrong", "check", id)) {
      for (std::size_t i = 0; i < buffers_->views().size(); ++i) {
        // The first byte of a float decides too little; the last one decides everything.
        const auto& view = buffers_->views()[i];
        if (!references_.front().arguments[i].is_output) continue;
        static_cast<unsigned char*>(view.data)[SizeOf(view.dtype) - 1] ^= 0x40;
      }
    }
    double worst = 0;
    const std::string wrong = Check(*built, &worst);
    if (!wrong.empty()) answer.update(Failure(FailureKind::kWrongNumbers, wrong));
    answer["max_error"] = std::min(worst, 1e300);
  }
  answer["check_s"] = measure::MonotonicSeconds() - start;
  if (!answer.contains("failure")) built_.emplace(id, std::move(built).value());
  return answer;
}

Json Worker::Time(const Json& message) {
  const auto id = message.at("id").get<int64_t>();
  const auto built = built_.extract(id);
  if (!built) return Failure(FailureKind::kGarbage, "nothing is built");
  const tvm_api::Executable& program = built.mapped();
  measure::TimingOptions options;
  options.min_repeat_s = message.at("min_repeat_s");
  options.min_repeats = message.at("min_repeats");
  options.max_repeats = message.at("max_repeats");
  options.max_s = message.at("max_s");
  options.uncertainty = message.at("uncertainty");
  options.patience_s = message.at("patience_s");
  options.cutoff_s = message.at("cutoff_s");
  const double start = measure::MonotonicSeconds();
  Phase("timing");
  Inject(faults_, "time", id, frames_fd_);
  buffers_->FillOutputsWithSentinel();
  Result<measure::Timing> timing = measure::TimeAdaptively(
      [&] { return program.Run(buffers_->views()); }, options, measure::MonotonicSeconds);
  if (!timing.ok()) return Failure(FailureKind::kRunError, timing.error().message);
  Json answer{{"seconds", timing->seconds},
              {"median_s", timing->median_s},
              {"spread_s", timing->spread_s},
              {"calls", timing->calls},
              {"time_s", measure::MonotonicSeconds() - start}};
  // What was timed must be what was checked: a program whose results depend on the run, by a race
  // say, shows here.
  double worst = 0;
  const std::string wrong = Check(program, &worst);
  answer["max_error"] = std::min(worst, 1e300);
  if (!wrong.empty()) answer.update(Failure(FailureKind::kWrongNumbers, "after timing: " + wrong));
  return answer;
}

Json Worker::Save(const Json& message) {
  std::vector<const void*> outputs;
  const verify::Reference& first = references_.front();
  for (std::size_t i = 0; i < first.arguments.size(); ++i) {
    if (first.arguments[i].is_output) outputs.push_back(buffers_->views()[i].data);
  }
  verify::Reference saved =
      verify::ReferenceFromOutputs(first.arguments, first.seed, first.distribution, outputs);
  saved.precision = first.precision;
  saved.reduction_length = first.reduction_length;
  const Status status = saved.Save(message.at("path").get<std::string>());
  return status.ok() ? Json::object() : Failure(FailureKind::kRunError, status.error().message);
}

}  // namespace tw::worker
