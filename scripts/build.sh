#!/usr/bin/env bash
# Configures a CMake preset where that is needed, and builds targets of it (all, without names).
#
#   scripts/build.sh PRESET [TARGET...]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

preset=$1
shift
ninja_file=build/$preset/build.ninja
# Ninja itself looks after the CMake files; these two it does not know.
if [[ ! $ninja_file -nt CMakePresets.json || ! $ninja_file -nt .venv/runtime.stamp ]]; then
  if ! log=$(cmake --preset "$preset" 2>&1); then
    echo "$log" >&2
    exit 1
  fi
fi
cmake --build "build/$preset" --parallel "${JOBS:-$(nproc)}" ${1:+--target "$@"}
