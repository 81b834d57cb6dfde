# SPDX-License-Identifier: MIT
"""One QEMU process: booted, frozen to files, thawed from them, and ended.

Freezing: the guest's memory is a file that QEMU maps shared while it boots; the migration
stream then holds the devices only ("x-ignore-shared").  Thawing maps the same file privately,
so a copy costs no memory until it writes, starts in a fraction of a second, and two machines
can run from one file.  The freeze needs no disk, no network and no 9p (which would block it).
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import time

from . import image
from .common import CACHE, VmError, locked, say, time_scale
from .link import GuestError, Link, LinkLost, LinkTimeout
from .logscan import scan

QEMU = "qemu-system-x86_64"

# On a fault in early boot the machine restarts, which -no-reboot turns into an exit; an NMI
# that nobody wants is a panic with all tasks and locks printed, which is how a hang is looked at.
# The watchdogs get more time than on real hardware: an emulated CPU on a busy host is slow.
APPEND = ("console=ttyS0 quiet nokaslr mitigations=off panic=-1 unknown_nmi_panic panic_print=0x9 "
          "watchdog_thresh=30 rcupdate.rcu_cpu_stall_timeout=60 random.trust_cpu=on")


class Options:
    """What makes one machine different from another; part of the key of its frozen copy."""

    def __init__(self, cpus=2, mem=None, icount=False):
        self.cpus = cpus
        self.mem = mem
        self.icount = icount

    def __str__(self):
        return "cpus=%d mem=%s icount=%d" % (self.cpus, self.mem, self.icount)


def qemu_version():
    try:
        out = subprocess.run([QEMU, "--version"], stdout=subprocess.PIPE, check=True,
                             universal_newlines=True).stdout
    except (OSError, subprocess.CalledProcessError):
        raise VmError("%s is missing; run scripts/setup vm" % QEMU)
    return out.splitlines()[0]


class NoBoot(Exception):
    """The machine did not come to the point where the agent speaks."""


class Qmp:
    """QEMU's control socket; commands are few and rare, so it is read only when one is sent."""

    def __init__(self, sock):
        self.sock = sock
        self.sock.settimeout(30)
        self.buf = b""
        self._message()     # greeting
        self.command("qmp_capabilities")

    def _message(self):
        while b"\n" not in self.buf:
            part = self.sock.recv(65536)
            if not part:
                raise OSError("QEMU closed its control socket")
            self.buf += part
        line, _, self.buf = self.buf.partition(b"\n")
        return json.loads(line.decode())

    def command(self, name, **arguments):
        text = json.dumps({"execute": name, "arguments": arguments})
        self.sock.sendall(text.encode())
        while True:
            msg = self._message()
            if "return" in msg:
                return msg["return"]
            if "error" in msg:
                raise VmError("QEMU refuses %s: %s" % (name, msg["error"]["desc"]))


class Machine:
    """A running QEMU with its console file, control socket and link to the agent."""

    alive = set()   # of this process, so that an interrupted suite can end them

    def __init__(self, kernel, accel, options, initrd, ram, console, share, thaw_from=None):
        self.console = console
        self.errors = console + ".qemu"
        mem = options.mem or kernel.mem
        ours, theirs = socket.socketpair()
        qmp_ours, qmp_theirs = socket.socketpair()
        if options.icount:
            accel_args = ["-accel", "tcg,thread=single", "-icount", "shift=2,sleep=off"]
        elif accel == "kvm":
            accel_args = ["-accel", "kvm"]
        else:
            accel_args = ["-accel", "tcg,thread=multi"]
        argv = [
            QEMU, "-name", "vrdu-vm", "-nodefaults", "-no-user-config", "-display", "none",
            "-no-reboot", "-machine", "q35,memory-backend=ram", "-cpu", "max",
            "-smp", str(options.cpus), "-m", "%dM" % mem,
            "-object", "memory-backend-file,id=ram,size=%dM,mem-path=%s,share=%s"
            % (mem, ram, "on" if share else "off"),
            "-kernel", kernel.image, "-initrd", initrd,
            "-append", ("%s %s" % (APPEND, kernel.append)).strip(),
            "-chardev", "file,id=con,path=%s" % console, "-serial", "chardev:con",
            "-chardev", "socket,id=agent,fd=%d" % theirs.fileno(),
            "-device", "virtio-serial-pci", "-device", "virtserialport,chardev=agent,"
            "name=vrdu.agent",
            "-chardev", "socket,id=qmp,fd=%d" % qmp_theirs.fileno(),
            "-mon", "chardev=qmp,mode=control",
        ] + accel_args
        if thaw_from:
            argv += ["-incoming", "defer"]
        # QEMU must not outlive a driver that is killed.
        if shutil.which("setpriv"):
            argv = ["setpriv", "--pdeathsig", "KILL", "--"] + argv
        with open(self.errors, "wb") as err:
            self.process = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=err, stderr=err, start_new_session=True,
                pass_fds=(theirs.fileno(), qmp_theirs.fileno()))
        Machine.alive.add(self)
        theirs.close()
        qmp_theirs.close()
        self.link = Link(ours, self.starved)
        try:
            self.qmp = Qmp(qmp_ours)
            if thaw_from:
                self._ignore_shared()
                self.qmp.command("migrate-incoming", uri="exec:cat '%s'" % thaw_from)
        except (OSError, ValueError) as e:
            self.kill()
            raise VmError("QEMU did not start: %s" % (self.qemu_says() or e))

    def _ignore_shared(self):
        self.qmp.command("migrate-set-capabilities",
                         capabilities=[{"capability": "x-ignore-shared", "state": True}])

    def freeze(self, path):
        """Write the state of the devices to a file; the machine stays stopped."""
        self._ignore_shared()
        self.qmp.command("migrate", uri="exec:cat >'%s'" % path)
        for _ in range(600):
            status = self.qmp.command("query-migrate").get("status")
            if status == "completed":
                return
            if status in ("failed", "cancelled"):
                raise VmError("QEMU could not freeze the machine: %s" % self.qemu_says())
            time.sleep(0.05)
        raise VmError("QEMU did not freeze the machine within 30 s")

    def inject_nmi(self, wait):
        """Make the kernel print all its tasks and die; True if it did within the time."""
        try:
            self.qmp.command("inject-nmi")
            self.process.wait(timeout=wait)
            return True
        except (OSError, VmError, subprocess.TimeoutExpired):
            return False

    def starved(self):
        """Seconds that the thread worst off has waited for a processor of the host."""
        base = "/proc/%d/task" % self.process.pid
        worst = 0
        try:
            for task in os.listdir(base):
                with open("%s/%s/schedstat" % (base, task)) as f:
                    worst = max(worst, int(f.read().split()[1]))
        except (OSError, ValueError, IndexError):
            pass    # a thread ended, or the host keeps no such statistics
        return worst / 1e9

    def ended(self, wait=0.0):
        """True if QEMU is gone."""
        try:
            self.process.wait(timeout=wait)
            return True
        except subprocess.TimeoutExpired:
            return False

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.link.close()
        Machine.alive.discard(self)

    def console_text(self):
        try:
            with open(self.console, "rb") as f:
                return f.read().decode("utf-8", "replace").replace("\r", "")
        except OSError:
            return ""

    def qemu_says(self):
        try:
            with open(self.errors, "rb") as f:
                return f.read().decode("utf-8", "replace").strip()
        except OSError:
            return ""


# -- frozen machines -------------------------------------------------------------

class Frozen:
    """A directory of the cache: initrd, ram, state, meta.json (its last file to appear)."""

    def __init__(self, path, kernel, options):
        self.path = path
        self.kernel = kernel
        self.options = options
        with open(os.path.join(path, "meta.json")) as f:
            self.meta = json.load(f)

    def file(self, name):
        return os.path.join(self.path, name)

    def thaw(self, console):
        """A fresh running copy whose agent has answered.  NoBoot if it does not."""
        machine = Machine(self.kernel, self.meta["accel"], self.options, self.file("initrd"),
                          self.file("ram"), console, share=False, thaw_from=self.file("state"))
        try:
            machine.link.hello(60 * time_scale())
        except (LinkLost, LinkTimeout) as e:
            machine.kill()
            raise NoBoot("the thawed machine did not answer (%s) %s"
                         % (str(e) or "time is up", machine.qemu_says()))
        except BaseException:
            machine.kill()
            raise
        return machine


def _boot_and_freeze(kernel, accel, options, initrd, preload, where, limit):
    """Boot in the directory where, load the helper modules, freeze.  What was measured."""
    console = os.path.join(where, "console.log")
    start = time.monotonic()
    machine = Machine(kernel, accel, options, initrd, os.path.join(where, "ram"), console,
                      share=True)
    try:
        try:
            release = machine.link.hello(limit)
        except LinkTimeout:
            raise NoBoot("the agent did not answer within %.0f s" % limit)
        except LinkLost:
            raise NoBoot("the machine ended during its boot: %s" % machine.qemu_says())
        booted = time.monotonic() - start
        if release != kernel.release:
            raise VmError("the machine runs %s where %s was expected" % (release, kernel.release))
        link = machine.link
        try:
            for name in preload:
                code, _, err = link.capture(
                    ["agent", "load", "/lib/modules/%s/%s.ko" % (release, name)], limit)
                if code:
                    raise NoBoot("the module %s does not load: %s" % (name, err))
            if kernel.debug:
                # Its own thread would scan during the tests; they ask for a scan when they want one.
                link.capture(["sh", "-c", "echo scan=off >/sys/kernel/debug/kmemleak"], limit)
            link.sync_log(limit)
            taint = int(link.read("/proc/sys/kernel/tainted"))
        except (LinkLost, LinkTimeout, GuestError) as e:
            raise NoBoot("the machine was lost while it was prepared: %s" % e)
        faults = scan(link.log)
        if faults or taint:
            raise NoBoot("the kernel log of the boot shows a fault (taint %d): %s"
                         % (taint, faults[0] if faults else ""))
        frozen_at = link.log[-1][1] if link.log else 0.0
        machine.freeze(os.path.join(where, "state"))
    finally:
        machine.kill()
    return {"accel": accel, "release": release, "boot_seconds": round(booted, 2),
            "total_seconds": round(time.monotonic() - start, 2), "log_seconds": frozen_at,
            "preloaded": preload}


def _probe_kvm(kernel, initrd):
    """Does KVM really boot this kernel and thaw it?  /dev/kvm alone proves nothing."""
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return False, "/dev/kvm cannot be opened"
    where = os.path.join(CACHE, "probe.%d" % os.getpid())
    shutil.rmtree(where, ignore_errors=True)
    os.makedirs(where)
    machine = None
    try:
        options = Options()
        _boot_and_freeze(kernel, "kvm", options, initrd, [], where, 20 * time_scale())
        machine = Machine(kernel, "kvm", options, initrd, os.path.join(where, "ram"),
                          os.path.join(where, "thaw.log"), share=False,
                          thaw_from=os.path.join(where, "state"))
        machine.link.hello(10 * time_scale())
        return True, "booted and thawed under KVM"
    except (NoBoot, VmError) as e:
        return False, str(e)
    except (LinkLost, LinkTimeout):
        return False, "a machine thawed under KVM does not answer"
    finally:
        if machine:
            machine.kill()
        shutil.rmtree(where, ignore_errors=True)


def choose_accel(kernel, initrd):
    """"kvm" or "tcg", found out once for this host, kernel and QEMU, then remembered."""
    forced = os.environ.get("VRDU_VM_ACCEL")
    if forced:
        if forced not in ("kvm", "tcg"):
            raise VmError("VRDU_VM_ACCEL=%s is neither kvm nor tcg" % forced)
        return forced
    host = image.digest(qemu_version(), os.uname().release, kernel.release,
                        str(os.access("/dev/kvm", os.R_OK | os.W_OK)))
    path = os.path.join(CACHE, "accel-%s.json" % kernel.kind)
    try:
        with open(path) as f:
            known = json.load(f)
        if known["host"] == host:
            return known["accel"]
    except (OSError, ValueError, KeyError):
        pass
    works, why = _probe_kvm(kernel, initrd)
    accel = "kvm" if works else "tcg"
    say("%s kernel: using %s (%s)" % (kernel.kind, accel, why))
    with open(path + ".part", "w") as f:
        json.dump({"host": host, "accel": accel, "why": why}, f)
    os.replace(path + ".part", path)
    return accel


def frozen(kernel, options):
    """The frozen machine for these options: from the cache, or booted now (once)."""
    inputs = image.inputs(kernel)
    key = image.digest(inputs, str(options), qemu_version(), APPEND, kernel.append,
                       os.environ.get("VRDU_VM_ACCEL", ""), os.uname().release)
    where = os.path.join(CACHE, "%s-%s" % (kernel.kind, key))
    if os.path.exists(os.path.join(where, "meta.json")):
        return Frozen(where, kernel, options)
    with locked("freeze"):
        if not os.path.exists(os.path.join(where, "meta.json")):
            _make_frozen(kernel, options, where)
    return Frozen(where, kernel, options)


def _make_frozen(kernel, options, where):
    part = where + ".part"
    shutil.rmtree(part, ignore_errors=True)
    shutil.rmtree(where, ignore_errors=True)
    os.makedirs(part)
    data, preload = image.build(kernel)
    initrd = os.path.join(part, "initrd")
    with open(initrd, "wb") as f:
        f.write(data)
    accel = "tcg" if options.icount else choose_accel(kernel, initrd)
    limit = kernel.boot_limit * time_scale() * (3 if options.icount else 1)
    say("%s kernel %s: booting once, to be frozen (%s, %s)" % (kernel.kind, kernel.release,
                                                               accel, options))
    for attempt in (1, 2):
        try:
            meta = _boot_and_freeze(kernel, accel, options, initrd, preload, part, limit)
            break
        except NoBoot as e:
            kept = os.path.join(CACHE, "noboot-%s.log" % kernel.kind)
            if os.path.exists(os.path.join(part, "console.log")):
                shutil.copyfile(os.path.join(part, "console.log"), kept)
            # An emulated CPU has been seen to die while the kernel patches its own text.
            if attempt == 2:
                raise NoBoot("%s; console in %s" % (e, kept))
            say("%s; once more" % e)
    with open(os.path.join(part, "meta.json"), "w") as f:
        json.dump(meta, f)
    os.rename(part, where)
    _forget_old(kernel, os.path.basename(where))
    say("%s kernel: booted in %.1f s, frozen after %.1f s" % (kernel.kind, meta["boot_seconds"],
                                                               meta["total_seconds"]))


def _forget_old(kernel, keep):
    """The three newest frozen machines of a kernel stay (several CPU counts, icount)."""
    found = []
    for name in os.listdir(CACHE):
        path = os.path.join(CACHE, name, "meta.json")
        if name.startswith(kernel.kind + "-") and name != keep and os.path.exists(path):
            found.append((os.stat(path).st_mtime, name))
    for _, name in sorted(found, reverse=True)[3:]:
        shutil.rmtree(os.path.join(CACHE, name), ignore_errors=True)


def end_by_signal(signum, _frame):
    """SIGTERM must run the finally blocks, so that no QEMU stays behind."""
    raise SystemExit(128 + signum)


signal.signal(signal.SIGTERM, end_by_signal)
