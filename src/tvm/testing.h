// Small schedulable modules for tests, made node by node.
#pragma once

#include <cstdint>
#include <vector>

#include "base/dtype.h"
#include "tvm/module.h"

namespace tw::tvm_api::testing {

// One PrimFunc "main"(A[m,k], B[k,n], C[m,n]) with one block "C": C[i,j] = sum over k of A[i,k] *
// B[k,j].
Module Matmul(int64_t m, int64_t n, int64_t k, DType dtype = DType::kF32);

// One PrimFunc "main"(A[shape], B[shape]) with one block "B": B = A * scale + offset.
Module Elementwise(const std::vector<int64_t>& shape, double scale = 2.0, double offset = 1.0,
                   DType dtype = DType::kF32);

}  // namespace tw::tvm_api::testing
