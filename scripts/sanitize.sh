#!/usr/bin/env bash
# Builds the unit tests of some folders of src/ with sanitizers and runs them.
#
#   scripts/sanitize.sh asan-ubsan|tsan FOLDER...
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

preset=$1
shift
scripts/build.sh "$preset" "${@/%/_tests}"
labels=$(IFS='|'; echo "$*")
export UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS=halt_on_error=1
without_aslr=()
# GCC 12's ThreadSanitizer stops at start-up on kernels that randomise addresses with more than 28 bits.
if [[ $preset == tsan ]] && setarch -R true 2>/dev/null; then
  without_aslr=(setarch -R)
fi
"${without_aslr[@]}" ctest --preset "$preset" -j "${JOBS:-$(nproc)}" -L "^($labels)$" --no-tests=error
