#include "tvm/runtime.h"

#include <dlfcn.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string_view>

#include "tvm/ffi.h"

namespace tw::tvm_api {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHomeVariable = "TENSORWRIGHT_TVM_HOME";

std::string InstallCommand() {
  return fmt::format("pip install 'apache-tvm=={}' 'apache-tvm-ffi=={}'", kTvmVersion,
                     kTvmFfiVersion);
}

// The VERSION in PACKAGE-VERSION.dist-info of a site-packages folder; none when not installed
// there.
std::optional<std::string> InstalledVersion(const fs::path& site, std::string_view package) {
  const std::string prefix = fmt::format("{}-", package);
  constexpr std::string_view suffix = ".dist-info";
  std::error_code ignored;
  for (fs::directory_iterator it(site, ignored), end; it != end; it.increment(ignored)) {
    const std::string name = it->path().filename().string();
    if (name.size() > prefix.size() + suffix.size() && name.starts_with(prefix) &&
        name.ends_with(suffix)) {
      return name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
    }
  }
  return std::nullopt;
}

Result<std::string> CheckVersion(const fs::path& site, const char* package, const char* wheel,
                                 const char* expected) {
  const std::optional<std::string> version = InstalledVersion(site, package);
  if (!version) {
    return Fail(Code::kEnvironment,
                "{} is not installed in {}. Run: {} (or set {} to the site-packages folder that "
                "has it)",
                wheel, site.string(), InstallCommand(), kHomeVariable);
  }
  if (*version != expected) {
    return Fail(Code::kEnvironment, "{} {} is installed in {}, but this build needs {}. Run: {}",
                wheel, *version, site.string(), expected, InstallCommand());
  }
  return *version;
}

Status Open(const fs::path& library) {
  if (dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    const char* reason = dlerror();
    return Fail(Code::kEnvironment, "cannot load {}: {}. Run: {}", library.string(),
                reason ? reason : "unknown reason", InstallCommand());
  }
  return Ok();
}

Status Probe() {
  std::vector<std::string> missing;
  for (const std::string& name : RequiredFunctions()) {
    if (!ffi::Function::GetGlobal(name)) missing.push_back(name);
  }
  if (missing.empty()) return Ok();
  return Fail(Code::kEnvironment, "this TVM lacks {} function(s): {}. Run: {}", missing.size(),
              fmt::join(missing, ", "), InstallCommand());
}

// The site-packages folder to load from.
fs::path Site() {
  const char* home = std::getenv(kHomeVariable);
  return home != nullptr && *home != '\0' ? home : TW_SITE_PACKAGES;
}

Result<Versions> CheckVersions(const fs::path& site) {
  std::error_code ignored;
  if (!fs::is_directory(site, ignored)) {
    return Fail(Code::kEnvironment,
                "{} is not a folder; set {} to the site-packages folder that has TVM. Run: {}",
                site.string(), kHomeVariable, InstallCommand());
  }
  Versions versions;
  TW_TRY(versions.tvm, CheckVersion(site, "apache_tvm", "apache-tvm", kTvmVersion));
  TW_TRY(versions.tvm_ffi, CheckVersion(site, "apache_tvm_ffi", "apache-tvm-ffi", kTvmFfiVersion));
  versions.site_packages = site.string();
  versions.library_dir = (site / "tvm" / "lib").string();
  return versions;
}

}  // namespace

Result<Versions> Load() {
  static std::mutex mutex;
  static std::optional<Versions> loaded;
  const std::lock_guard lock(mutex);
  TW_TRY(Versions versions, CheckVersions(Site()));
  if (loaded && loaded->library_dir == versions.library_dir) return versions;
  if (loaded) {
    return Fail(Code::kEnvironment, "TVM is loaded from {} already; a second copy cannot be",
                loaded->library_dir);
  }
  for (const char* name : {"libtvm_runtime.so", "libtvm_runtime_extra.so", "libtvm_compiler.so"}) {
    TW_CHECK(Open(fs::path(versions.library_dir) / name));
  }
  TW_CHECK(Catch(Code::kEnvironment, "probing TVM", Probe));
  loaded = versions;
  return versions;
}

std::string SystemCpu() { return Call("target.llvm_get_system_cpu").cast<std::string>(); }

}  // namespace tw::tvm_api
