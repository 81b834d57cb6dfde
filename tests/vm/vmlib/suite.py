# SPDX-License-Identifier: MIT
"""A manifest of test programs, each in its own fresh machine; KTAP out, counts at the end.

Manifest: one test a line, "#" starts a comment, words are split as a shell does:

    NAME TIMEOUT [KEY=VALUE]... [-- COMMAND [ARGUMENT]...]

TIMEOUT is in seconds on the stock kernel; a slower kernel gets more.  Without a command the
first file put is run.  Keys (put, module, get and env may be given several times):

    put=FILE[:GUESTPATH]   bring a file in (to /t/<name>); its shared libraries follow by themselves
    module=FILE.ko         load a module; "module=FILE.ko a=1 b=2" in quotes passes parameters
    get=GUESTPATH:FILE     fetch a file after the command
    env=NAME=VALUE         set a variable
    kernel=stock|debug     on the other kernel the test is skipped
    cpus=N, mem=MIB        another machine (booted and frozen once more)
    icount=yes             deterministic time: one thread, time counted in instructions
    unload=no              leave the modules loaded at the end
    leaks=yes              scan with kmemleak at the end (debug kernel; 30 s or more)
    plain=yes              the command prints no TAP; its exit code is the only test

{kernel}, {root}, {build} and each NAME of --define NAME=VALUE are replaced in values.  Relative
paths on the host start at the root of the repository.
"""

import fnmatch
import json
import os
import re
import shlex
from concurrent.futures import ThreadPoolExecutor

from . import ktap
from .common import BUILD, ROOT, VERDICTS, VmError
from .machine import Machine, Options, frozen
from .runner import Request, parse_module, parse_put, run

LIST_KEYS = ("put", "module", "get", "env")
FLAG_KEYS = ("icount", "unload", "leaks", "plain")
VALUE_KEYS = ("kernel", "cpus", "mem")


class Test:
    """One line of the manifest."""

    def __init__(self, name, timeout, argv, keys):
        self.name = name
        self.timeout = timeout
        self.argv = argv
        self.keys = keys

    def flag(self, key, default):
        return {"yes": True, "no": False, None: default}[self.keys.get(key)]


def _host(path):
    return path if os.path.isabs(path) else os.path.join(ROOT, path)


def parse_line(text, defines):
    words = shlex.split(text, comments=True)
    if not words:
        return None

    def replace(word):
        def value(m):
            if m.group(1) not in defines:
                raise ValueError("{%s} is not defined" % m.group(1))
            return defines[m.group(1)]
        return re.sub(r"\{([A-Za-z_]\w*)\}", value, word)

    words = [replace(w) for w in words]
    argv = []
    if "--" in words:
        at = words.index("--")
        words, argv = words[:at], words[at + 1:]
    if len(words) < 2:
        raise ValueError("a name and a time limit are needed")
    name, limit = words[0], words[1]
    try:
        timeout = float(limit)
    except ValueError:
        timeout = 0
    if not 0 < timeout <= 7200:
        raise ValueError("time limit '%s' is not a number of seconds up to 7200" % limit)
    keys = {key: [] for key in LIST_KEYS}
    for word in words[2:]:
        key, eq, value = word.partition("=")
        if not eq or not value:
            raise ValueError("'%s' is not KEY=VALUE" % word)
        if key in LIST_KEYS:
            keys[key].append(value)
        elif key in keys:
            raise ValueError("%s= stands twice" % key)
        elif key in FLAG_KEYS and value in ("yes", "no"):
            keys[key] = value
        elif key in ("cpus", "mem") and value.isdigit() and int(value):
            keys[key] = int(value)
        elif key == "kernel" and value in ("stock", "debug"):
            keys[key] = value
        else:
            raise ValueError("'%s' is not understood" % word)
    if not argv:
        if not keys["put"]:
            raise ValueError("neither a command nor a file to put")
        argv = [parse_put(keys["put"][0])[1]]
    return Test(name, timeout, argv, keys)


def read_manifest(path, defines):
    tests, names = [], set()
    try:
        with open(path) as f:
            lines = f.readlines()
    except OSError as e:
        raise VmError("manifest %s: %s" % (path, e.strerror))
    for number, line in enumerate(lines, 1):
        try:
            test = parse_line(line, defines)
            if test and test.name in names:
                raise ValueError("the name '%s' stands twice" % test.name)
        except ValueError as e:
            raise VmError("%s:%d: %s" % (path, number, e))
        if test:
            names.add(test.name)
            tests.append(test)
    return tests


class Outcome:
    """What one test program came to."""

    def __init__(self, test):
        self.test = test
        self.lines = []         # its output, KTAP-indented, when it is not printed live
        self.parser = ktap.Parser()
        self.result = None      # runner.Result, None if it did not run
        self.reasons = []
        self.verdict = None     # pass, fail, skip, or a name of common.VERDICTS
        self.counts = {ktap.PASS: 0, ktap.FAIL: 0, ktap.SKIPPED: 0}

    def decide(self):
        """Verdict, reasons and counts from the result and the parsed output."""
        code = self.result.code
        parser = self.parser
        plain = self.test.flag("plain", False)
        broken = code in VERDICTS and self.result.reasons
        if broken:
            # What it printed before counts; the machine's verdict is one more failure.
            self.verdict = VERDICTS[code]
            self.reasons = list(self.result.reasons)
            parser.errors = []
        elif plain:
            parser.tests = [(self.test.name, {0: ktap.PASS, 4: ktap.SKIPPED}.get(code, ktap.FAIL))]
            self.verdict = parser.tests[0][1]
            self.reasons = ["exit code %d" % code] if self.verdict == ktap.FAIL else []
        else:
            parser.finish(code)
            self.reasons = list(parser.errors)
            failed = parser.count(ktap.FAIL)
            if code > 128:
                self.verdict = "crashed"
            elif parser.plan is None:
                self.verdict = "no plan"
            elif parser.errors:
                self.verdict = "bad output"
            elif failed:
                self.verdict = ktap.FAIL
                self.reasons.append("%d of %d failed" % (failed, len(parser.tests)))
            elif code == 4 or parser.skipped_whole:
                self.verdict = ktap.SKIPPED
                if not parser.tests:
                    parser.tests = [(self.test.name, ktap.SKIPPED)]
            else:
                self.verdict = ktap.PASS
        for what in self.counts:
            self.counts[what] = parser.count(what)
        # A failure that no test line shows must still be counted, and so must tests that the
        # plan promised and nobody saw.
        lost = 0
        if not plain and parser.plan is not None:
            lost = max(0, parser.plan - parser.seen)
        if self.verdict not in (ktap.PASS, ktap.SKIPPED):
            shown = self.counts[ktap.FAIL] if self.verdict == ktap.FAIL else 0
            self.counts[ktap.FAIL] += lost or (0 if shown else 1)

    def skip(self, reason):
        self.verdict = ktap.SKIPPED
        self.reasons = [reason]
        self.counts[ktap.SKIPPED] = 1

    @property
    def good(self):
        return self.verdict in (ktap.PASS, ktap.SKIPPED)


class Suite:
    def __init__(self, kernel, tests, args):
        self.kernel = kernel
        self.tests = tests
        self.args = args

    def _request(self, test, last):
        debug = self.kernel.debug
        leaks = test.flag("leaks", False) or self.args.leaks or (last and not self.args.no_leaks)
        puts = [parse_put(p) for p in test.keys["put"] + self.args.put]
        modules = [parse_module(m) for m in self.args.module + test.keys["module"]]
        gets = [g.partition(":")[::2] for g in test.keys["get"]]
        env = dict(e.partition("=")[::2] for e in self.args.env + test.keys["env"])
        return Request(test.argv, test.timeout, [(_host(p), g) for p, g in puts],
                       [(_host(m), p) for m, p in modules], [(g, _host(p)) for g, p in gets],
                       env, test.flag("unload", True), leaks and debug)

    def _options(self, test):
        return Options(test.keys.get("cpus", self.args.cpus), test.keys.get("mem", self.args.mem),
                       test.flag("icount", self.args.icount))

    def run_one(self, test, last, live):
        outcome = Outcome(test)
        if test.keys.get("kernel", self.kernel.kind) != self.kernel.kind:
            outcome.skip("only for the %s kernel" % test.keys["kernel"])
            return outcome

        def show(line):
            text = "  " + line if ktap.TAP_LINE.match(line) else "  # " + line
            if live:
                print(text, flush=True)
            else:
                outcome.lines.append(text)

        def stdout(line):
            if not test.flag("plain", False):
                outcome.parser.line(line)
            show(line)

        out, err = ktap.Lines(stdout), ktap.Lines(lambda line: show("# " + line))
        outcome.result = run(self.kernel, self._options(test), self._request(test, last),
                             lambda chan, data: (out if chan == 1 else err).feed(data))
        out.close()
        err.close()
        outcome.decide()
        return outcome

    def report(self, number, outcome):
        for line in outcome.lines:
            print(line)
        result = outcome.result
        if result:
            for note in result.notes:
                print("  # note: " + note)
        if not outcome.good:
            for reason in outcome.reasons:
                for line in reason.splitlines():
                    print("  # %s" % line)
            if result and result.console:
                print("  # console and kernel log: %s" % os.path.dirname(result.console))
        text = "%sok %d %s" % ("" if outcome.good else "not ", number, outcome.test.name)
        if outcome.verdict == ktap.SKIPPED:
            text += " # SKIP %s" % "; ".join(outcome.reasons)
        elif outcome.good:
            text += " # time=%.1fs" % result.seconds
        else:
            text += " # %s" % outcome.verdict
        print(text.rstrip(), flush=True)

    def go(self):
        total = {ktap.PASS: 0, ktap.FAIL: 0, ktap.SKIPPED: 0}
        outcomes = []
        print("KTAP version 1")
        print("# kernel: %s (%s)" % (self.kernel.release, self.kernel.kind))
        print("1..%d" % len(self.tests), flush=True)
        live = self.args.jobs == 1
        last = len(self.tests) - 1
        # Boot before the threads start: they would wait for one another anyhow.
        frozen(self.kernel, Options(self.args.cpus, self.args.mem, self.args.icount))
        pool = ThreadPoolExecutor(self.args.jobs)
        try:
            if live:
                todo = (self.run_one(t, i == last, True) for i, t in enumerate(self.tests))
            else:
                todo = pool.map(lambda p: self.run_one(p[1], p[0] == last, False),
                                enumerate(self.tests))
            for number, outcome in enumerate(todo, 1):
                self.report(number, outcome)
                outcomes.append(outcome)
                for what in total:
                    total[what] += outcome.counts[what]
        except BaseException:
            # Interrupted: no further test may start, and those that run are ended.
            pool.shutdown(wait=False, cancel_futures=True)
            for machine in list(Machine.alive):
                machine.kill()
            raise
        pool.shutdown()
        if self.args.json:
            self.write_json(outcomes, total)
        print("%d passed, %d failed, %d skipped" % (total[ktap.PASS], total[ktap.FAIL],
                                                    total[ktap.SKIPPED]), flush=True)
        return 1 if total[ktap.FAIL] or not all(o.good for o in outcomes) else 0

    def write_json(self, outcomes, total):
        data = {"kernel": self.kernel.kind, "release": self.kernel.release,
                "passed": total[ktap.PASS], "failed": total[ktap.FAIL],
                "skipped": total[ktap.SKIPPED], "programs": []}
        for o in outcomes:
            data["programs"].append({
                "name": o.test.name, "verdict": o.verdict, "reasons": o.reasons,
                "code": o.result.code if o.result else None,
                "seconds": round(o.result.seconds, 3) if o.result else 0,
                "guest_seconds": round(o.result.exit.seconds, 6)
                if o.result and o.result.exit else None,
                "console": o.result.console if o.result else None,
                "tests": [{"name": n, "verdict": v} for n, v in o.parser.tests]})
        try:
            with open(self.args.json, "w") as f:
                json.dump(data, f, indent=1)
                f.write("\n")
        except OSError as e:
            raise VmError("%s: %s" % (self.args.json, e.strerror))


def run_suite(kernel, args):
    defines = {"kernel": kernel.kind, "root": ROOT, "build": BUILD}
    for text in args.define:
        name, _, value = text.partition("=")
        defines[name] = value
    tests = read_manifest(args.manifest, defines)
    if args.filter:
        tests = [t for t in tests if any(fnmatch.fnmatchcase(t.name, f) for f in args.filter)]
    if not tests:
        raise VmError("no test to run: %s" % (
            "nothing in %s matches %s" % (args.manifest, " ".join(args.filter))
            if args.filter else "%s is empty" % args.manifest))
    return Suite(kernel, tests, args).go()
