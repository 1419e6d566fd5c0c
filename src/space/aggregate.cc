// From TVM's features of each store to one row, and one guess, for a program.
#include <algorithm>
#include <cmath>
#include <span>

#include "space/cost_model.h"

namespace tw::space {
namespace {

// Columns of TVM's per_store_feature.cc.
constexpr int kFloatOps = 0, kFloatOpKinds = 7;  // log2(count + 1) of each kind of operation
constexpr int kVectorLength = 16 + 2;            // of the vectorised loops: number, product, length
constexpr int kIntensity = 147, kIntensityPoints = 10;
constexpr int kUnrollStep = 163;

std::span<const float> Row(const tvm_api::Features& features, int row) {
  return std::span(features.values)
      .subspan(static_cast<std::size_t>(row) * features.columns, features.columns);
}

int HeaviestRow(const tvm_api::Features& features) {
  int heaviest = 0;
  double most = -1;
  for (int row = 0; row < features.rows; ++row) {
    double operations = 0;
    for (int i = 0; i < kFloatOpKinds; ++i) {
      operations += std::exp2(static_cast<double>(Row(features, row)[kFloatOps + i])) - 1;
    }
    if (operations > most) {
      most = operations;
      heaviest = row;
    }
  }
  return heaviest;
}

}  // namespace

std::vector<float> AggregateFeatures(const tvm_api::Features& features) {
  const int columns = tvm_api::kFeatureColumns;
  std::vector<float> result(kAggregatedColumns, 0.0f);
  if (features.rows == 0) return result;
  const auto heaviest = Row(features, HeaviestRow(features));
  std::copy(heaviest.begin(), heaviest.end(), result.begin());
  for (int column = 0; column < columns; ++column) {
    float largest = Row(features, 0)[column];
    double total = 0;
    for (int row = 0; row < features.rows; ++row) {
      const float value = Row(features, row)[column];
      largest = std::max(largest, value);
      total += std::exp2(static_cast<double>(value)) - 1;
    }
    result[columns + column] = largest;
    result[2 * columns + column] = static_cast<float>(std::log2(std::max(total, 0.0) + 1));
  }
  return result;
}

double PriorScore(const tvm_api::Features& features) {
  if (features.rows == 0) return 0;
  const auto row = Row(features, HeaviestRow(features));
  constexpr double kEightLanes = 3.17;  // log2(8 + 1)
  constexpr double kHighIntensity = 8;  // log2 of operations a byte that caches can feed at all
  double intensity = 0;
  for (int i = 0; i < kIntensityPoints; ++i) intensity += row[kIntensity + i] / kIntensityPoints;
  return 0.5 * std::clamp(row[kVectorLength] / kEightLanes, 0.0, 1.0) +
         0.4 * std::clamp(intensity / kHighIntensity, 0.0, 1.0) +
         0.1 * (row[kUnrollStep] > 0 ? 1.0 : 0.0);
}

}  // namespace tw::space
