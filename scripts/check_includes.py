#!/usr/bin/env python3
"""Checks that #include lines follow the arrows between the folders of src/.

A folder may include its own headers and those of the folders it names in tw_module(DEPS ...), directly or
through them. Headers of TVM's FFI (<tvm/...>) are for src/tvm and src/lower only.

    scripts/check_includes.py [ROOT]

Prints one line per wrong include, `file:line: ...`, and exits 1 when there is one.
"""

import pathlib
import re
import sys

TVM_FOLDERS = {"tvm", "lower"}
MODULE = re.compile(r"tw_module\(([^)]*)\)")
KEYWORDS = {"NAME", "DEPS", "LIBS"}
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)
RAW_STRING = re.compile(r'R"([^()\\\s]{0,16})\((.*?)\)\1"', re.DOTALL)


def read_dependencies(cmake_text):
    """The folder's name and its DEPS, from the text of its CMakeLists.txt."""
    match = MODULE.search(cmake_text)
    if not match:
        return None, set()
    lists = {keyword: [] for keyword in KEYWORDS}
    current = None
    for word in match.group(1).split():
        if word in KEYWORDS:
            current = word
        elif current:
            lists[current].append(word)
    return lists["NAME"][0], set(lists["DEPS"])


def reachable(folder, dependencies):
    """All folders that `folder` may use, itself among them."""
    found, waiting = set(), [folder]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(dependencies.get(name, ()))
    return found


def includes(text):
    """(line, is_system, path) of each include; text inside raw strings is not code."""
    blanked = RAW_STRING.sub(lambda m: "\n" * m.group(0).count("\n"), text)
    for match in INCLUDE.finditer(blanked):
        yield blanked.count("\n", 0, match.start()) + 1, match.group(1) == "<", match.group(2)


def cycles(dependencies):
    """Folders that reach themselves through their DEPS."""
    return sorted(
        folder
        for folder, direct in dependencies.items()
        if any(folder in reachable(name, dependencies) for name in direct)
    )


def check(root):
    source = root / "src"
    dependencies = {}
    for path in sorted(source.glob("*/CMakeLists.txt")):
        name, direct = read_dependencies(path.read_text())
        if name is not None:
            dependencies[name] = direct
    problems = [
        f"src/{name}/CMakeLists.txt:1: DEPS lead back to {name}" for name in cycles(dependencies)
    ]
    for path in sorted([*source.rglob("*.cc"), *source.rglob("*.h")]):
        folder = path.relative_to(source).parts[0]
        allowed = reachable(folder, dependencies)
        for line, is_system, included in includes(path.read_text()):
            where = f"{path.relative_to(root)}:{line}"
            target = included.split("/")[0]
            if is_system and target == "tvm" and folder not in TVM_FOLDERS:
                problems.append(
                    f"{where}: <{included}> belongs to src/tvm and src/lower; use a header of src/tvm"
                )
            elif not is_system and not (source / included).is_file():
                # Made during the build (*.inc), or a mistake that the compiler finds.
                continue
            elif not is_system and target not in allowed:
                problems.append(
                    f'{where}: "{included}" points up: src/{folder} may use '
                    f"{', '.join(sorted(allowed - {folder})) or 'nothing'}; "
                    f"move the code, or add {target} to DEPS in src/{folder}/CMakeLists.txt"
                )
    return problems


def main():
    root = (
        pathlib.Path(sys.argv[1])
        if len(sys.argv) > 1
        else pathlib.Path(__file__).resolve().parents[1]
    )
    problems = check(root)
    print("\n".join(problems), end="\n" if problems else "", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
