#include "tvm/features.h"

#include <cstring>

#include "tvm/design_space_impl.h"
#include "tvm/ffi.h"

namespace tw::tvm_api {

struct FeatureExtractor::Impl {
  Any extractor;
  Any context;
};

Result<FeatureExtractor> FeatureExtractor::Make(const Module& module, const Target& target) {
  return Catch(Code::kUsage, "feature extraction", [&] {
    constexpr int64_t kBuffers = 5, kCurvePoints = 10, kCacheLine = 64;  // TVM's defaults
    auto impl = std::make_shared<Impl>();
    impl->extractor = Call("s_tir.meta_schedule.FeatureExtractorPerStoreFeature", kBuffers,
                           kCurvePoints, kCacheLine, /*extract_workload=*/false);
    impl->context =
        Call("s_tir.meta_schedule.TuneContext", Get(module), Get(target), nullptr, nullptr,
             ffi::String("main"), /*num_threads=*/int64_t{1}, int64_t{1}, SilentLogger());
    return FeatureExtractor(std::move(impl));
  });
}

Result<Features> FeatureExtractor::Extract(const Schedule& schedule) const {
  return Catch(Code::kUsage, "feature extraction", [&]() -> Result<Features> {
    const Any candidate =
        Call("s_tir.meta_schedule.MeasureCandidate", Get(schedule), ffi::Array<Any>());
    const auto tensors = Call("s_tir.meta_schedule.FeatureExtractorExtractFrom", impl_->extractor,
                              impl_->context, ffi::Array<Any>{candidate})
                             .cast<ffi::Array<ffi::Tensor>>();
    const ffi::Tensor tensor = tensors[0];
    const DLTensor* view = tensor.GetDLTensorPtr();
    if (view->ndim != 2 || view->shape[1] != kFeatureColumns || view->dtype.bits != 64) {
      return Fail(Code::kInternal, "feature extraction: expected doubles in {} columns",
                  kFeatureColumns);
    }
    Features features;
    features.rows = static_cast<int>(view->shape[0]);
    features.columns = kFeatureColumns;
    const auto* data =
        reinterpret_cast<const double*>(static_cast<const char*>(view->data) + view->byte_offset);
    features.values.assign(data, data + features.rows * features.columns);
    return features;
  });
}

}  // namespace tw::tvm_api
