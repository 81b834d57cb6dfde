# SPDX-License-Identifier: MIT
"""Reads the KTAP or TAP that a test program prints, and counts its tests.

Only leaves count: a result line that closes an indented block of results is the sum of the
block.  A program that prints no plan before it ends may have lost tests without a trace, so
that is an error of its own; so are a plan of another length and a result out of order.
"""

import re

PLAN = re.compile(r"^( *)1\.\.(\d+)\s*(#\s*SKIP.*)?$", re.I)
RESULT = re.compile(r"^( *)(not )?ok\b\s*(\d+)?\s*(?:- )?(.*)$")
SKIP = re.compile(r"#\s*SKIP\b\s*(.*)", re.I)
TAP_LINE = re.compile(r"^ *(TAP version|KTAP version|1\.\.\d+|(not )?ok\b|#|Bail out!)")

PASS, FAIL, SKIPPED = "pass", "fail", "skip"


class Parser:
    def __init__(self):
        self.tests = []         # (name, PASS | FAIL | SKIPPED) of each leaf
        self.errors = []        # sentences: what is wrong with the output itself
        self.plan = None        # of the outermost level
        self.seen = 0           # results of the outermost level
        self.skipped_whole = False
        self._open = []         # (indent, any failed) of results not yet closed by an outer one
        self._bailed = False

    def line(self, text):
        text = text.rstrip("\r\n")
        m = PLAN.match(text)
        if m:
            return self._plan(m)
        m = RESULT.match(text)
        if m:
            return self._result(m)
        if text.startswith("Bail out!"):
            self._bailed = True
            self.errors.append(text)
        return None

    def _plan(self, m):
        if m.group(1):
            return
        if self.plan is not None:
            self.errors.append("a second plan line")
        self.plan = int(m.group(2))
        if self.plan == 0 or m.group(3):
            self.skipped_whole = True

    def _result(self, m):
        indent, failed, number, name = len(m.group(1)), bool(m.group(2)), m.group(3), m.group(4)
        inner = [bad for depth, bad in self._open if depth > indent]
        self._open = [(depth, bad) for depth, bad in self._open if depth <= indent]
        skip = SKIP.search(name)
        clean = name.split(" # ")[0].strip()
        if clean.startswith("#"):
            clean = SKIP.sub(r"\1", clean).strip()
        clean = clean or "test %s" % number
        self._open.append((indent, failed))
        if not indent:
            self.seen += 1
            if number and int(number) != self.seen:
                self.errors.append("result %s where %d was due" % (number, self.seen))
        if inner:
            if failed and not any(inner):
                self.tests.append((clean, FAIL))
            elif not failed and any(inner):
                self.errors.append("'%s' is ok although a part of it is not" % clean)
        else:
            self.tests.append((clean, FAIL if failed else SKIPPED if skip else PASS))

    def count(self, what):
        return sum(1 for _, verdict in self.tests if verdict == what)

    def finish(self, exit_code):
        """Check the whole against the plan and the exit code; self.errors is complete then."""
        failed = self.count(FAIL)
        if self.plan is None:
            self.errors.append("no plan line: the program does not say how many tests it has")
        elif self.seen != self.plan:
            self.errors.append("the plan says %d tests, %d reported" % (self.plan, self.seen))
        if exit_code not in (0, 1, 4):
            self.errors.append("exit code %d is none of 0 (pass), 1 (fail), 4 (skip)" % exit_code)
        elif exit_code == 0 and failed:
            self.errors.append("exit code 0 although %d failed" % failed)
        elif exit_code == 1 and not failed and not self.errors:
            self.errors.append("exit code 1 although no test failed")
        elif exit_code == 4 and self.count(PASS) + failed:
            self.errors.append("exit code 4 (skip) although tests ran")


class Lines:
    """Cuts a stream of bytes into lines."""

    def __init__(self, emit):
        self.emit = emit
        self.rest = b""

    def feed(self, data):
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            self.emit(line.decode("utf-8", "replace"))

    def close(self):
        if self.rest:
            self.emit(self.rest.decode("utf-8", "replace"))
            self.rest = b""
