// For files under src/tvm only: what a DesignSpace holds.
#pragma once

#include <string>
#include <vector>

#include "tvm/ffi.h"
#include "tvm/schedule.h"

namespace tw::tvm_api {

struct DesignSpace::Impl {
  Module module;
  Target target;
  Any generator;  // SpaceGenerator with guarded rules, postprocs and mutators
  Any context;    // the TuneContext the generator was initialised with; keeps it alive
  std::vector<Any> postprocs;
  std::vector<std::string> postproc_names;
  std::vector<Any> schedules;  // one a sketch, as generated
  std::vector<Trace> sketches;
  std::vector<std::string> notes;
  int vector_bits = 128;
};

// A function for TVM's `logger` arguments that drops what it gets: TVM would print to stderr.
ffi::Function SilentLogger();

}  // namespace tw::tvm_api
