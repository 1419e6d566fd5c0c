// Programs of several blocks for tests, made with TVM's tensor expressions. float32 throughout.
#pragma once

#include <cstdint>

#include "tvm/module.h"

namespace tw::tvm_api::testing {

// main(A[m,k], V[k,n], O[m,n]): S[i] = sum over k of A[i,k]; O[i,j] = sum over k of (A[i,k] / S[i])
// * V[k,j]. The core of attention: a reduction that another reduction reads. Blocks S, P (the
// quotient) and O.
Module NormalizedMatmul(int64_t m, int64_t n, int64_t k);

// main(X[m,k], G[k,n], U[k,n], D[n,k], Y[m,k]): gate = X G, up = X U, act = exp(gate) * up, Y = act
// D. TVM's stock tiling rule throws on it: `act` has two tiled producers, and exp keeps it from
// being inlined.
Module GatedMlp(int64_t m, int64_t n, int64_t k);

// main(A[m,k], B[k,n], C[m,n], R[m]): C = A B and R[i] = sum over k of A[i,k]; two outputs.
Module TwoOutputs(int64_t m, int64_t n, int64_t k);

}  // namespace tw::tvm_api::testing
