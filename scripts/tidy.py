#!/usr/bin/env python3
"""Runs clang-tidy on the sources (not the tests) that changed since they last passed.

    scripts/tidy.py BUILD_DIR [FILE...]

BUILD_DIR holds compile_commands.json. A file passes again without running when nothing that its result depends
on changed: itself, the headers of ours it includes, .clang-tidy, its compile command. Stamps of that are kept in
BUILD_DIR/tidy.
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import subprocess
import sys

import check_includes

ROOT = pathlib.Path(__file__).resolve().parents[1]
CLANG_TIDY = ROOT / ".venv/bin/clang-tidy"


def own_files(path, seen):
    """`path` and the headers of src/ that it includes, through others too."""
    if path in seen or not path.is_file():
        return seen
    seen.add(path)
    for _, is_system, included in check_includes.includes(path.read_text()):
        if not is_system:
            own_files(ROOT / "src" / included, seen)
    return seen


def fingerprint(path, command):
    digest = hashlib.sha256(command.encode())
    requirements = ROOT / "requirements-dev.txt"
    for part in [ROOT / ".clang-tidy", requirements, *sorted(own_files(path, set()))]:
        digest.update(part.read_bytes())
    return digest.hexdigest()


def run(build, path, command):
    """What clang-tidy has to say about `path`; nothing when it passed."""
    stamp = build / "tidy" / path.relative_to(ROOT).with_suffix(".passed")
    now = fingerprint(path, command)
    if stamp.is_file() and stamp.read_text() == now:
        return ""
    done = subprocess.run(
        [
            CLANG_TIDY,
            "-p",
            build,
            "--quiet",
            "--extra-arg=-Wno-unknown-warning-option",
            "--extra-arg=-Wno-deprecated-declarations",  # libstdc++ 12 itself
            path,
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0:
        stamp.parent.mkdir(parents=True, exist_ok=True)
        stamp.write_text(now)
        return ""
    return done.stdout or done.stderr


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    build = pathlib.Path(sys.argv[1]).resolve()
    commands = {
        pathlib.Path(entry["file"]): entry["command"]
        for entry in json.loads((build / "compile_commands.json").read_text())
    }
    wanted = [pathlib.Path(name).resolve() for name in sys.argv[2:]] or sorted(
        path for path in commands if not path.name.endswith("_test.cc")
    )
    unknown = [str(path) for path in wanted if path not in commands]
    if unknown:
        sys.exit(f"tidy: not in {build}/compile_commands.json: {', '.join(unknown)}")
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(
        int(os.environ.get("JOBS") or os.cpu_count())
    ) as pool:
        for problems in pool.map(lambda path: run(build, path, commands[path]), wanted):
            if problems:
                failed += 1
                print(problems, end="", flush=True)
    print(f"tidy: {len(wanted)} files, {failed} with problems")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
