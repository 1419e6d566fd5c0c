// Finds schedules that compute wrong numbers although every step of them was legal for
// MetaSchedule.
#pragma once

#include <optional>
#include <string>

#include "tvm/module.h"

namespace tw::tvm_api {

// A reduction that is repeated without being reset: its update block lies in a loop that none of
// its axes uses, while every block that initialises its buffer lies outside that loop, so that each
// turn adds onto the last one. MetaSchedule makes such programs when SampleComputeLocation puts one
// reduction under a reduction loop of its reader and RewriteReductionBlock then hoists the
// initialisation above that loop. Returns what was found, in words ("block S_update is summed again
// in every turn of loop k_0, ..."), or nothing. `module` is a scheduled, post-processed module.
// Reductions whose axes use the loop but overlap from turn to turn are not found here.
std::optional<std::string> FindRepeatedReduction(const Module& module);

}  // namespace tw::tvm_api
