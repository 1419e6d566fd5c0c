"""scripts/check_includes.py on small trees made here."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/check_includes.py"


class CheckIncludes(unittest.TestCase):
    def check(self, files):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = pathlib.Path(folder, "src", name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            done = subprocess.run(
                [sys.executable, SCRIPT, folder], capture_output=True, text=True, check=False
            )
        return done.returncode, done.stderr

    TREE = {
        "low/CMakeLists.txt": "tw_module(NAME low LIBS fmt::fmt)\n",
        "low/low.h": "",
        "middle/CMakeLists.txt": "tw_module(NAME middle\n          DEPS low\n          LIBS x)\n",
        "middle/middle.h": '#include "low/low.h"\n',
        "high/CMakeLists.txt": "tw_module(NAME high DEPS middle)\n",
        "high/high.cc": '#include "middle/middle.h"\n#include "low/low.h"\n#include "high/own.h"\n',
        "high/own.h": "",
    }

    def test_arrows_down_are_right(self):
        self.assertEqual(self.check(self.TREE), (0, ""))

    def test_an_arrow_up_is_wrong(self):
        code, text = self.check({**self.TREE, "low/bad.cc": '\n#include "middle/middle.h"\n'})
        self.assertEqual(code, 1)
        self.assertIn("src/low/bad.cc:2:", text)
        self.assertIn("middle", text)

    def test_an_undeclared_neighbour_is_wrong(self):
        code, text = self.check(
            {
                **self.TREE,
                "other/CMakeLists.txt": "tw_module(NAME other DEPS low)\n",
                "other/a.h": '#  include "high/own.h"\n',
            }
        )
        self.assertEqual(code, 1)
        self.assertIn("src/other/a.h:1:", text)

    def test_a_cycle_is_wrong(self):
        code, text = self.check(
            {**self.TREE, "low/CMakeLists.txt": "tw_module(NAME low DEPS high)\n"}
        )
        self.assertEqual(code, 1)
        self.assertIn("src/low/CMakeLists.txt:1:", text)

    def test_tvm_only_where_it_belongs(self):
        tvm = {
            "tvm/CMakeLists.txt": "tw_module(NAME tvm)\n",
            "tvm/a.cc": "#include <tvm/ffi/any.h>\n",
        }
        self.assertEqual(self.check({**self.TREE, **tvm}), (0, ""))
        code, text = self.check({**self.TREE, "high/b.cc": "#include <tvm/ffi/any.h>\n"})
        self.assertEqual(code, 1)
        self.assertIn("src/high/b.cc:1:", text)

    def test_raw_strings_are_not_code(self):
        text = 'const char* a = R"X(\n#include <tvm/ffi/any.h>\n)X";\n#include "high/own.h"\n'
        code, errors = self.check({**self.TREE, "low/c.cc": text})
        self.assertEqual(code, 1)
        self.assertEqual(errors.count("\n"), 1)
        self.assertIn("src/low/c.cc:4:", errors)


if __name__ == "__main__":
    unittest.main(verbosity=2)
