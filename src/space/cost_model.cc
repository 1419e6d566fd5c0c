#include "space/cost_model.h"

#include <xgboost/c_api.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "space/schedule_state.h"

namespace tw::space {
namespace {

constexpr int kFormat = 1;  // of Save

Status Check(int code) {
  if (code == 0) return Ok();
  return Fail(Code::kInternal, "XGBoost: {}", XGBGetLastError());
}

class Matrix {
 public:
  static Result<Matrix> Make(const std::vector<std::vector<float>>& rows) {
    std::vector<float> values;
    values.reserve(rows.size() * kAggregatedColumns);
    for (const auto& row : rows) values.insert(values.end(), row.begin(), row.end());
    Matrix matrix;
    TW_CHECK(
        Check(XGDMatrixCreateFromMat(values.data(), rows.size(), kAggregatedColumns,
                                     std::numeric_limits<float>::quiet_NaN(), &matrix.handle_)));
    return matrix;
  }
  Matrix(Matrix&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Matrix& operator=(Matrix&&) = delete;
  ~Matrix() {
    if (handle_ != nullptr) XGDMatrixFree(handle_);
  }
  DMatrixHandle get() const { return handle_; }

 private:
  Matrix() = default;
  DMatrixHandle handle_ = nullptr;
};

const std::optional<tvm_api::Features>& FeaturesOf(const search::StatePtr& state) {
  return static_cast<const ScheduleState&>(*state).features();
}

std::vector<float> RowOf(const search::StatePtr& state) {
  const auto& features = FeaturesOf(state);
  return features ? AggregateFeatures(*features) : std::vector<float>(kAggregatedColumns, 0.0f);
}

}  // namespace

struct XgbCostModel::Trees {
  BoosterHandle handle = nullptr;
  ~Trees() {
    if (handle != nullptr) XGBoosterFree(handle);
  }
};

XgbCostModel::XgbCostModel(XgbOptions options) : options_(options) {}
XgbCostModel::~XgbCostModel() = default;

int XgbCostModel::valid_samples() const {
  std::lock_guard lock(mutex_);
  return static_cast<int>(
      std::count_if(latencies_.begin(), latencies_.end(), [](const auto& l) { return bool(l); }));
}

std::vector<double> XgbCostModel::Predict(std::span<const search::StatePtr> states) {
  std::vector<double> scores(states.size(), 0.0);
  if (states.empty()) return scores;
  std::lock_guard lock(mutex_);
  if (trees_ == nullptr) {
    for (std::size_t i = 0; i < states.size(); ++i) {
      if (const auto& features = FeaturesOf(states[i])) scores[i] = PriorScore(*features);
    }
    return scores;
  }
  std::vector<std::vector<float>> rows;
  for (const auto& state : states) rows.push_back(RowOf(state));
  const auto matrix = Matrix::Make(rows);
  if (!matrix.ok()) return scores;
  bst_ulong count = 0;
  const float* predicted = nullptr;
  if (XGBoosterPredict(trees_->handle, matrix->get(), 0, 0, 0, &count, &predicted) != 0) {
    return scores;
  }
  for (std::size_t i = 0; i < states.size() && i < count; ++i) {
    if (FeaturesOf(states[i])) scores[i] = std::clamp<double>(predicted[i], 0.0, 1.5);
  }
  return scores;
}

Status XgbCostModel::Update(std::span<const search::StatePtr> states,
                            std::span<const std::optional<double>> latencies) {
  if (states.size() != latencies.size()) {
    return Fail(Code::kInternal, "cost model: {} programs with {} latencies", states.size(),
                latencies.size());
  }
  std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < states.size(); ++i) {
    const auto& latency = latencies[i];
    const bool valid = latency && std::isfinite(*latency) && *latency > 0;
    rows_.push_back(RowOf(states[i]));
    latencies_.push_back(valid ? latency : std::nullopt);
  }
  return Fit();
}

Status XgbCostModel::Fit() {
  double best = std::numeric_limits<double>::infinity();
  int valid = 0;
  for (const auto& latency : latencies_) {
    if (!latency) continue;
    ++valid;
    best = std::min(best, *latency);
  }
  trees_.reset();
  if (valid < options_.min_samples) return Ok();
  std::vector<float> labels;
  for (const auto& latency : latencies_) {
    labels.push_back(latency ? static_cast<float>(best / *latency) : 0.0f);
  }
  TW_TRY(const Matrix matrix, Matrix::Make(rows_));
  TW_CHECK(Check(XGDMatrixSetFloatInfo(matrix.get(), "label", labels.data(), labels.size())));
  auto trees = std::make_unique<Trees>();
  const DMatrixHandle data = matrix.get();
  TW_CHECK(Check(XGBoosterCreate(&data, 1, &trees->handle)));
  const double mean =
      std::accumulate(labels.begin(), labels.end(), 0.0) / static_cast<double>(labels.size());
  // Small steps, shallow trees and a part of the columns for each, since the columns outnumber the
  // samples.
  const std::pair<const char*, std::string> parameters[] = {
      {"objective", "reg:squarederror"},
      {"base_score", fmt::format("{}", mean)},
      {"tree_method", "exact"},
      {"eta", "0.1"},
      {"max_depth", "5"},
      {"min_child_weight", "1"},
      {"gamma", "0.0001"},
      {"colsample_bytree", "0.5"},
      {"subsample", "0.9"},
      {"seed", fmt::format("{}", options_.seed % 1000000007)},
      {"nthread", fmt::format("{}", options_.threads)},
      {"verbosity", "0"},
  };
  for (const auto& [name, value] : parameters) {
    TW_CHECK(Check(XGBoosterSetParam(trees->handle, name, value.c_str())));
  }
  for (int round = 0; round < options_.rounds; ++round) {
    TW_CHECK(Check(XGBoosterUpdateOneIter(trees->handle, round, data)));
  }
  trees_ = std::move(trees);
  return Ok();
}

Result<std::string> XgbCostModel::Save() {
  std::lock_guard lock(mutex_);
  nlohmann::json json{{"format", kFormat}, {"columns", kAggregatedColumns}, {"rows", rows_}};
  auto& latencies = json["latencies"] = nlohmann::json::array();
  for (const auto& latency : latencies_) {
    latencies.push_back(latency ? nlohmann::json(*latency) : nlohmann::json(nullptr));
  }
  const auto bytes = nlohmann::json::to_cbor(json);
  return std::string(bytes.begin(), bytes.end());
}

Status XgbCostModel::Load(const std::string& bytes) {
  const auto damaged = [] { return Fail(Code::kRunDirectory, "the saved cost model is damaged"); };
  std::vector<std::vector<float>> rows;
  std::vector<std::optional<double>> latencies;
  try {
    const auto json = nlohmann::json::from_cbor(bytes);
    if (json.at("format") != kFormat || json.at("columns") != kAggregatedColumns) {
      return Fail(Code::kRunDirectory, "the saved cost model is of another version");
    }
    rows = json.at("rows").get<std::vector<std::vector<float>>>();
    for (const auto& latency : json.at("latencies")) {
      latencies.push_back(latency.is_null() ? std::nullopt : std::optional(latency.get<double>()));
    }
  } catch (const nlohmann::json::exception&) {
    return damaged();
  }
  const bool fits =
      rows.size() == latencies.size() && std::all_of(rows.begin(), rows.end(), [](const auto& row) {
        return row.size() == static_cast<std::size_t>(kAggregatedColumns);
      });
  if (!fits) return damaged();
  std::lock_guard lock(mutex_);
  rows_ = std::move(rows);
  latencies_ = std::move(latencies);
  return Fit();
}

std::vector<double> RandomCostModel::Predict(std::span<const search::StatePtr> states) {
  std::lock_guard lock(mutex_);
  std::vector<double> scores;
  for (std::size_t i = 0; i < states.size(); ++i) scores.push_back(random_.Unit());
  return scores;
}

Result<std::string> RandomCostModel::Save() {
  std::lock_guard lock(mutex_);
  return fmt::format("{}", random_.state());
}

Status RandomCostModel::Load(const std::string& bytes) {
  try {
    std::size_t end = 0;
    const uint64_t state = std::stoull(bytes, &end);
    if (end != bytes.size()) throw std::invalid_argument("trailing text");
    std::lock_guard lock(mutex_);
    random_ = Random(state);
  } catch (const std::exception&) {
    return Fail(Code::kRunDirectory, "the saved cost model is damaged");
  }
  return Ok();
}

}  // namespace tw::space
