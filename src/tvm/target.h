// Compilation targets.
#pragma once

#include <string>

#include "base/result.h"
#include "tvm/object.h"

namespace tw::tvm_api {

class Target : public Object {
 public:
  using Object::Object;
  explicit Target(Object o) : Object(std::move(o)) {}

  // `text` is a kind with attributes ("llvm", "llvm -mcpu=znver3 -num-cores=2") or TVM's JSON form
  // ({"kind":"llvm","mcpu":"znver3"}). What is not given is filled in: mcpu with the CPU of this
  // machine, num-cores with `cores`. Errors: kUsage.
  static Result<Target> Parse(const std::string& text, int cores);

  std::string ToJson() const;  // canonical, as MetaSchedule's database writes it
  std::string Kind() const;    // "llvm"
  int Cores() const;
};

}  // namespace tw::tvm_api
