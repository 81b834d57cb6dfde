# SPDX-License-Identifier: MIT
"""One command in one fresh machine: bring it in, run it, look at what it did to the kernel.

The order is: thaw, put files, load modules, run, end what is left, read the log and the taint,
unload the modules, scan for leaks if asked.  Every step has a time limit; what goes wrong in
which step decides the verdict (common.py).
"""

import os
import re
import shutil
import time

from . import image
from .common import CACHE, DIED, FAULT, HUNG, NO_BOOT, SETUP, VmError, time_scale
from .link import GuestError, LinkLost, LinkTimeout
from .logscan import TAINT_OOPS, scan, scan_console, taint_names
from .machine import NoBoot, frozen

STEP_LIMIT = 30         # seconds for a step of ours on the stock kernel
KEPT_RUNS = 40          # console files of failed runs that stay
LEAK_SCAN_LIMIT = 120   # one kmemleak scan; 12 to 25 s were seen
PATH = "/t:/bin:/sbin:/usr/bin"


class Request:
    """What is asked of one run.

    puts: (host path, guest path); modules: (host path, parameters); gets: (guest path, host
    path); timeout: seconds on the stock kernel; leaks: scan with kmemleak at the end.
    """

    def __init__(self, argv, timeout=60, puts=(), modules=(), gets=(), env=None, unload=True,
                 leaks=False):
        self.argv = list(argv)
        self.timeout = timeout
        self.puts = list(puts)
        self.modules = list(modules)
        self.gets = list(gets)
        self.env = dict(env or {})
        self.unload = unload
        self.leaks = leaks


class Result:
    """code: the command's exit code or a verdict of common.py; exit: link.Exited or None;
    reasons: sentences that say why the verdict is what it is; console: path if it was kept."""

    def __init__(self):
        self.code = None
        self.exit = None
        self.reasons = []
        self.console = None
        self.seconds = 0.0      # all of it, on the host
        self.notes = []         # worth a line, but no failure
        self.log = []           # kernel log since the thaw: (level, seconds, text)


class _Stop(Exception):
    """The run ends here with a verdict."""

    def __init__(self, code, reason):
        super().__init__(reason)
        self.code = code


def parse_put(text):
    """FILE[:GUESTPATH]; the guest path defaults to /t/<name>."""
    path, _, guest = text.partition(":")
    guest = guest or "/t/" + os.path.basename(path)
    if not guest.startswith("/"):
        guest = "/t/" + guest
    return path, guest


def parse_module(text):
    """FILE.ko [PARAMETER=VALUE ...]"""
    path, _, params = text.strip().partition(" ")
    return path, params.strip()


class Run:
    def __init__(self, kernel, options, request, output):
        self.kernel = kernel
        self.options = options
        self.request = request
        self.output = output
        self.result = Result()
        self.machine = None
        self.frozen = None
        self.dir = None
        self.loaded = []        # names of the modules of the request, in loading order
        self.symbols = {}       # module name -> [(address, symbol)] for leak reports
        self.step = "boot"
        self.slow = 1.0

    def limit(self, seconds):
        return seconds * self.slow

    # -- steps ---------------------------------------------------------------

    def _check_host_files(self):
        for path, _ in self.request.puts + self.request.modules:
            if not os.path.isfile(path):
                raise _Stop(SETUP, "%s does not exist" % path)
        for path, _ in self.request.modules:
            info = image.modinfo(path)
            release = info["vermagic"].split()[0]
            if release != self.kernel.release:
                raise _Stop(SETUP, "%s is built for kernel %s, the machine runs %s: build it "
                            "again with the right KDIR" % (path, release, self.kernel.release))

    def _thaw(self):
        console = os.path.join(self.dir, "console.log")
        try:
            self.frozen = frozen(self.kernel, self.options)
            try:
                self.machine = self.frozen.thaw(console)
            except NoBoot as e:
                self.result.notes.append("%s; once more" % e)
                self.machine = self.frozen.thaw(console)
        except NoBoot as e:
            raise _Stop(NO_BOOT, str(e))
        self.slow = time_scale() * (self.kernel.slow if self.frozen.meta["accel"] == "tcg" else 1)

    def _put_files(self):
        link = self.machine.link
        search = sorted({os.path.dirname(os.path.abspath(p)) for p, _ in self.request.puts})
        present = set(image.BASE_LIBS)
        for path, guest in self.request.puts:
            with open(path, "rb") as f:
                link.put(f.read(), guest, os.stat(path).st_mode & 0o777, self.limit(120))
        given = {os.path.basename(guest) for _, guest in self.request.puts}
        for path, _ in self.request.puts:
            for name, lib in image.libraries(path, search):
                if name in present or name in given or name.startswith("/"):
                    continue
                present.add(name)
                with open(lib, "rb") as f:
                    link.put(f.read(), "%s/%s" % (image.LIB_DIR, name), 0o755, self.limit(120))

    def _load_modules(self):
        link = self.machine.link
        for path, params in self.request.modules:
            info = image.modinfo(path)
            name = info["name"].replace("-", "_")
            for dep in image.load_order(image.depends(path), self.kernel.modules):
                if dep not in self.frozen.meta["preloaded"] and dep not in self.loaded:
                    self._load("/lib/modules/%s/%s.ko" % (self.kernel.release, dep), "")
            guest = "/t/%s.ko" % name
            with open(path, "rb") as f:
                link.put(f.read(), guest, 0o644, self.limit(60))
            self._load(guest, params)
            self.loaded.append(name)

    def _load(self, guest, params):
        code, _, err = self.machine.link.capture(["agent", "load", guest, params],
                                                 self.limit(STEP_LIMIT))
        if code:
            self.machine.link.sync_log(self.limit(STEP_LIMIT))
            # The debug kernel tells of every kobject it releases.
            said = [text for _, _, text in self.machine.link.log
                    if not text.startswith("kobject: ")][-3:]
            faults = scan(self.machine.link.log)
            if faults:
                self.result.reasons += faults
                raise _Stop(FAULT, "loading %s: %s" % (guest, err or "the loader was killed"))
            raise _Stop(SETUP, "%s; kernel log: %s" % (err, " | ".join(said) or "nothing"))

    def _run_command(self):
        env = {"PATH": PATH, "HOME": "/root", "TMPDIR": "/tmp", "TERM": "dumb",
               "LD_LIBRARY_PATH": "/t", "VRDU_VM": self.kernel.kind,
               "VRDU_TIME_SCALE": "%g" % self.slow}
        env.update(self.request.env)
        self.result.exit = self.machine.link.run(
            self.request.argv, self.limit(self.request.timeout), self.output, env)

    def _get_files(self):
        for guest, path in self.request.gets:
            code, data, err = self.machine.link.capture(["cat", guest], self.limit(120))
            if code:
                raise _Stop(SETUP, "get %s: %s" % (guest, err))
            with open(path, "wb") as f:
                f.write(data)

    def _end_processes(self):
        found, stuck = self.machine.link.kill_all(self.limit(STEP_LIMIT))
        if found:
            self.result.notes.append("%d process(es) of the command had to be ended" % found)
        if stuck:
            raise _Stop(HUNG, "%d process(es) cannot be killed: they sleep in the kernel" % stuck)

    def _unload_modules(self):
        link = self.machine.link
        bad = []
        for name in reversed(self.loaded):
            if self.request.leaks:
                self._keep_symbols(name)
            if not self.request.unload:
                continue
            code, _, err = link.capture(["agent", "unload", name], self.limit(STEP_LIMIT))
            present = re.search(r"^%s " % re.escape(name), link.read("/proc/modules") or "", re.M)
            if code or present:
                bad.append("module %s does not unload: %s" % (name, err or "it is still listed"))
        return bad

    def _check_kernel(self):
        link = self.machine.link
        bad = []
        taint = int(link.read("/proc/sys/kernel/tainted", self.limit(STEP_LIMIT)) or -1)
        for name in taint_names(0, taint):
            bad.append("kernel tainted: " + name)
        if self.kernel.debug:
            stats = link.read("/proc/lockdep_stats", self.limit(STEP_LIMIT)) or ""
            if not re.search(r"debug_locks:\s+1\b", stats):
                bad.append("lockdep has turned itself off")
        return bad, bool(taint & TAINT_OOPS)

    # -- leaks ---------------------------------------------------------------

    def _keep_symbols(self, name):
        """Leak reports name addresses of a module that is gone by then."""
        _, out, _ = self.machine.link.capture(
            ["grep", "-F", "[%s]" % name, "/proc/kallsyms"], self.limit(STEP_LIMIT))
        table = []
        for line in out.decode("utf-8", "replace").splitlines():
            fields = line.split()
            if len(fields) >= 3:
                table.append((int(fields[0], 16), fields[2]))
        self.symbols[name] = sorted(table)

    def _symbol(self, match):
        address = int(match.group(0), 16)
        for module, table in self.symbols.items():
            if table and table[0][0] <= address < table[-1][0] + 4096:
                base, name = max(t for t in table if t[0] <= address)
                return "%s+0x%x [%s]" % (name, address - base, module)
        return match.group(0)

    def _scan_leaks(self):
        """kmemleak reports what is older than five seconds and unreachable in two scans."""
        link = self.machine.link
        command = ("f=/sys/kernel/debug/kmemleak; sleep 6; echo scan >$f && echo scan >$f && "
                   "cat $f")
        code, out, err = link.capture(["sh", "-c", command],
                                      self.limit(10) + LEAK_SCAN_LIMIT * 2 * time_scale())
        if code:
            return ["the kmemleak scan failed: %s" % (err or "code %d" % code)]
        text = out.decode("utf-8", "replace")
        text = re.sub(r"0x(?:ffffffff[c-f]|ffffffffa)[0-9a-f]+", self._symbol, text)
        reports = re.split(r"(?m)^(?=unreferenced object)", text)
        return ["leak: " + r.strip() for r in reports if r.startswith("unreferenced object")]

    # -- the whole -------------------------------------------------------------

    def _steps(self):
        self.step = "checking the files"
        self._check_host_files()
        self.step = "thawing"
        self._thaw()
        link = self.machine.link
        self.step = "putting files"
        self._put_files()
        self.step = "loading modules"
        self._load_modules()
        self.step = "the command"
        self._run_command()
        self.step = "fetching files"
        failed_get = None
        try:
            self._get_files()
        except _Stop as e:
            failed_get = e
        self.step = "ending processes"
        self._end_processes()
        self.step = "checking the kernel"
        bad, oopsed = self._check_kernel()
        if oopsed:
            # The task that died may hold locks and references for ever: unloading could only hang.
            self.result.notes.append("modules not unloaded after the oops")
        else:
            self.step = "unloading modules"
            bad += self._unload_modules()
        if self.request.leaks and self.kernel.debug and not oopsed:
            self.step = "scanning for leaks"
            bad += self._scan_leaks()
        link.sync_log(self.limit(STEP_LIMIT))
        bad = scan(link.log) + bad
        if link.log_lost:
            bad += scan_console(self.machine.console_text())
        if bad:
            self.result.reasons += bad
            raise _Stop(FAULT, None)
        if failed_get:
            raise failed_get

    def _post_mortem(self, code):
        """What the log and the console of a machine tell that is gone or hangs."""
        machine = self.machine
        machine.link.drain_log()
        seen = scan(machine.link.log)
        if code == HUNG:
            # The panic that we cause now is not a finding.
            mark = len(machine.console_text())
            if machine.inject_nmi(self.limit(20)):
                self.result.notes.append("all tasks and locks are printed in the console file")
            text = machine.console_text()[:mark]
        else:
            machine.ended(5)
            text = machine.console_text()
            if machine.qemu_says():
                self.result.reasons.append("QEMU says: " + machine.qemu_says())
        self.result.reasons += seen or scan_console(text)

    def go(self):
        start = time.monotonic()
        result = self.result
        self.dir = _new_run_dir()
        try:
            self._steps()
            result.code = result.exit.code
        except _Stop as e:
            result.code = e.code
            if str(e) != "None":
                result.reasons.insert(0, str(e))
            if e.code == HUNG:
                self._post_mortem(HUNG)
        except LinkTimeout:
            result.code = HUNG
            result.reasons.append("no end of %s within its time limit%s" % (
                self.step, " of %g s" % self.limit(self.request.timeout)
                if self.step == "the command" else ""))
            self._post_mortem(HUNG)
        except LinkLost as e:
            result.code = DIED
            result.reasons.append("the machine ended during %s (%s)" % (self.step, e))
            self._post_mortem(DIED)
        except GuestError as e:
            result.code = SETUP
            result.reasons.append(str(e))
        except VmError as e:
            # QEMU or a file of the host; before the agent spoke it is "no boot".
            result.code = SETUP if self.machine or self.step != "thawing" else NO_BOOT
            result.reasons.append(str(e))
        finally:
            self._finish()
            result.seconds = time.monotonic() - start
        return result

    def _finish(self):
        """End the machine; of a run that failed the console and the kernel log stay."""
        if self.machine:
            self.result.log = self.machine.link.log
            self.machine.kill()
        if self.machine and self.result.code not in (0, 4):
            with open(os.path.join(self.dir, "kernel.log"), "w") as f:
                for _, seconds, text in self.result.log:
                    f.write("[%12.6f] %s\n" % (seconds, text))
            self.result.console = os.path.join(self.dir, "console.log")
        else:
            shutil.rmtree(self.dir, ignore_errors=True)


def _new_run_dir():
    base = os.path.join(CACHE, "run")
    os.makedirs(base, exist_ok=True)
    old = sorted(os.listdir(base))
    for name in old[:-KEPT_RUNS]:
        shutil.rmtree(os.path.join(base, name), ignore_errors=True)
    n = 0
    while True:
        path = os.path.join(base, "%s-%d-%d" % (time.strftime("%Y%m%d-%H%M%S"), os.getpid(), n))
        try:
            os.mkdir(path)
            return path
        except FileExistsError:
            n += 1


def run(kernel, options, request, output):
    return Run(kernel, options, request, output).go()
