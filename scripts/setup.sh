#!/usr/bin/env bash
# Prepares a bare Debian 12 or 13 for building: the packages of apt-packages.txt and a Python environment in
# .venv with the pinned wheels of requirements.txt. Does nothing, quickly, when all is there.
#
#   scripts/setup.sh [dev] [bench]     also the wheels of requirements-dev.txt, requirements-bench.txt
#
# Exit 5: something is missing that this script may not install; it says what to do.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly ENVIRONMENT_MISSING=5

say() { echo "setup: $*" >&2; }

give_up() {
  printf 'setup: %s\n' "$@" >&2
  exit "$ENVIRONMENT_MISSING"
}

missing_packages() {
  local wanted installed
  wanted=$(grep -v '^#' scripts/apt-packages.txt | sort)
  # dpkg-query fails when it does not know one of the names, which is no error here.
  # shellcheck disable=SC2086,SC2016
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' $wanted 2>/dev/null |
    sed -n 's/^installed //p' | sort -u || true)
  comm -23 <(echo "$wanted") <(echo "$installed")
}

as_root() {
  if [[ $(id -u) -eq 0 ]]; then
    env DEBIAN_FRONTEND=noninteractive "$@"
  else
    sudo -n env DEBIAN_FRONTEND=noninteractive "$@"
  fi
}

install_packages() {
  local missing
  if ! command -v dpkg-query >/dev/null; then
    give_up "this is not Debian: no dpkg-query." \
      "Install what scripts/apt-packages.txt lists, then use the CMake presets directly (CONTRIBUTING.md)."
  fi
  missing=$(missing_packages | xargs)
  [[ -n $missing ]] || return 0
  if [[ $(id -u) -ne 0 ]] && ! sudo -n true 2>/dev/null; then
    give_up "packages are missing, and there is neither root nor sudo without a password. Run as root:" \
      "  apt-get update && apt-get install --no-install-recommends -y $missing"
  fi
  say "installing $missing"
  as_root apt-get update -q >&2
  # shellcheck disable=SC2086
  as_root apt-get install -q -y --no-install-recommends $missing >&2
}

# Prints the first Python that is new enough and can make environments.
find_python() {
  local candidate
  for candidate in python3 /usr/bin/python3; do
    if "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' \
      >/dev/null 2>&1; then
      echo "$candidate"
      return
    fi
  done
  give_up "no Python of version 3.11 or later that can make environments. Install one, e.g.:" \
    "  apt-get install -y python3 python3-venv"
}

# install_wheels NAME FILE: installs FILE into .venv unless the stamp says that this was done.
install_wheels() {
  local stamp=".venv/$1.stamp" file=$2 hash
  hash=$(sha256sum "$file" | cut -d' ' -f1)
  [[ $(cat "$stamp" 2>/dev/null) == "$hash" ]] && return
  say "installing the wheels of $file"
  .venv/bin/python -m pip install -q --disable-pip-version-check -r "$file" >&2
  echo "$hash" >"$stamp"
}

install_packages
if ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
  python=$(find_python)
  say "making .venv with $("$python" --version)"
  rm -rf .venv
  "$python" -m venv .venv
fi
install_wheels runtime requirements.txt
for extra in "$@"; do
  if [[ ! -f requirements-$extra.txt ]]; then
    say "unknown argument '$extra': give dev, bench or nothing"
    exit 2
  fi
  install_wheels "$extra" "requirements-$extra.txt"
done
