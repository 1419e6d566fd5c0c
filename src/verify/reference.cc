#include "verify/reference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/hash.h"
#include "verify/element.h"

namespace tw::verify {
namespace {

constexpr std::string_view kMagic = "TWREF2\n";

int64_t Elements(const tvm_api::Argument& argument) {
  int64_t count = 1;
  for (int64_t extent : argument.shape) count *= extent;
  return count;
}

template <typename T>
void Put(std::string& bytes, const T* values, std::size_t count) {
  bytes.append(reinterpret_cast<const char*>(values), count * sizeof(T));
}

// Takes `count` values from the front of `bytes`; false when there are not so many.
template <typename T>
bool Take(std::string_view& bytes, std::vector<T>& values, std::size_t count) {
  if (bytes.size() / sizeof(T) < count) return false;
  values.resize(count);
  if (count > 0) std::memcpy(values.data(), bytes.data(), count * sizeof(T));
  bytes.remove_prefix(count * sizeof(T));
  return true;
}

Error Damaged(const std::filesystem::path& path) {
  return Fail(Code::kRunDirectory, "{}: the reference file is damaged; delete it and run again",
              path.string());
}

}  // namespace

double RootMeanSquare(const std::vector<double>& values) {
  // Relative to the largest, so that no square leaves the range.
  double largest = 0;
  for (double v : values) {
    if (std::isfinite(v)) largest = std::max(largest, std::fabs(v));
  }
  if (largest == 0) return 0;
  double sum = 0;
  int64_t count = 0;
  for (double v : values) {
    if (!std::isfinite(v)) continue;
    sum += (v / largest) * (v / largest);
    ++count;
  }
  return largest * std::sqrt(sum / static_cast<double>(count));
}

Reference ReferenceFromOutputs(const std::vector<tvm_api::Argument>& arguments, uint64_t seed,
                               Distribution distribution, const std::vector<const void*>& outputs) {
  Reference reference;
  reference.seed = seed;
  reference.distribution = distribution;
  reference.arguments = arguments;
  reference.oracle = "unscheduled";
  std::size_t next = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].is_output) continue;
    ExpectedOutput expected;
    expected.argument = static_cast<int>(i);
    const int64_t count = Elements(arguments[i]);
    expected.value.reserve(static_cast<std::size_t>(count));
    for (int64_t e = 0; e < count; ++e) {
      expected.value.push_back(Element(arguments[i].dtype, outputs[next], e));
    }
    expected.scale = RootMeanSquare(expected.value);
    reference.outputs.push_back(std::move(expected));
    ++next;
  }
  return reference;
}

Status Reference::Save(const std::filesystem::path& path) const {
  nlohmann::json head{{"seed", seed},
                      {"distribution", static_cast<int>(distribution)},
                      {"precision", LongName(precision)},
                      {"reduction_length", reduction_length},
                      {"oracle", oracle},
                      {"arguments", nlohmann::json::array()},
                      {"outputs", nlohmann::json::array()}};
  for (const tvm_api::Argument& a : arguments) {
    head["arguments"].push_back({a.name, LongName(a.dtype), a.shape, a.is_output});
  }
  std::string body;
  for (const ExpectedOutput& o : outputs) {
    head["outputs"].push_back({o.argument, o.index.size(), o.value.size(), o.scale});
    Put(body, o.index.data(), o.index.size());
    Put(body, o.value.data(), o.value.size());
  }
  const std::string text = head.dump();
  const uint64_t size = text.size();
  std::string bytes(kMagic);
  Put(bytes, &size, 1);
  bytes += text + body;
  const uint64_t checksum = Hash64(bytes);
  Put(bytes, &checksum, 1);
  return WriteFileAtomic(path, bytes, Code::kRunDirectory);
}

Result<Reference> Reference::Load(const std::filesystem::path& path) {
  TW_TRY(const std::string bytes, ReadFile(path, Code::kRunDirectory));
  std::string_view left = bytes;
  std::vector<uint64_t> number;
  if (left.size() < sizeof(uint64_t) || left.substr(0, kMagic.size()) != kMagic) {
    return Damaged(path);
  }
  const std::string_view covered = left.substr(0, left.size() - sizeof(uint64_t));
  std::string_view tail = left.substr(covered.size());
  if (!Take(tail, number, 1) || number[0] != Hash64(covered)) return Damaged(path);
  left = covered.substr(kMagic.size());
  if (!Take(left, number, 1) || left.size() < number[0]) return Damaged(path);
  const nlohmann::json head = nlohmann::json::parse(left.substr(0, number[0]), nullptr, false);
  left.remove_prefix(number[0]);
  // The checksum fits, so the header is what Save wrote.
  Reference reference;
  reference.seed = head.at("seed");
  reference.distribution = static_cast<Distribution>(head.at("distribution").get<int>());
  const auto precision = ParseDType(head.at("precision").get<std::string>());
  if (!precision) return Damaged(path);
  reference.precision = *precision;
  reference.reduction_length = head.at("reduction_length");
  reference.oracle = head.at("oracle");
  for (const auto& a : head.at("arguments")) {
    const auto dtype = ParseDType(a[1].get<std::string>());
    if (!dtype) return Damaged(path);
    reference.arguments.push_back(
        {a[0].get<std::string>(), *dtype, a[2].get<std::vector<int64_t>>(), a[3].get<bool>()});
  }
  for (const auto& o : head.at("outputs")) {
    ExpectedOutput expected;
    expected.argument = o[0];
    expected.scale = o[3];
    if (!Take(left, expected.index, o[1].get<std::size_t>()) ||
        !Take(left, expected.value, o[2].get<std::size_t>())) {
      return Damaged(path);
    }
    reference.outputs.push_back(std::move(expected));
  }
  return reference;
}

}  // namespace tw::verify
