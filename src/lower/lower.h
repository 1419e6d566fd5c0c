// LEIR to TIR, node by node (no text in between).
#pragma once

#include "base/result.h"
#include "leir/ast.h"
#include "tvm/module.h"

namespace tw::lower {

enum class Mode {
  kForScheduling,  // loop kinds, bindings and scopes dropped: MetaSchedule decides
  kAsWritten,      // kinds kept; on a CPU block axes become parallel, thread axes serial
};

// A checked program becomes an IRModule with one PrimFunc "main": arguments in declaration order,
// one block per statement with spatial and reduction axes, reductions with an init. Block names are
// the names of the tensors they write (made unique by a suffix). The same program gives the same
// module every time. Errors are kUsage and name the statement (line:column) that cannot be said in
// TIR.
// A limit: where a later statement updates a tensor in place (C = C + Bias after the matmul that
// wrote C) the module is right, but MetaSchedule's post-processing refuses the schedules it draws.
// Write to a second tensor to tune such a program.
Result<tvm_api::Module> Lower(const leir::Program& program, Mode mode);

}  // namespace tw::lower
