# SPDX-License-Identifier: MIT
"""The initramfs, made in well under a second: agent, busybox, kernel modules, the C library.

It is an uncompressed "newc" archive, because the emulated processor would pay for unpacking.
Also here: what a kernel module says of itself, and which libraries a program needs.
"""

import hashlib
import os
import re
import shutil
import stat
import struct
import subprocess

from .common import CACHE, VM_DIR, VmError

BASE_LIBS = ["libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1"]
LOADER = "/lib64/ld-linux-x86-64.so.2"
LIB_DIR = "/lib/x86_64-linux-gnu"


# -- kernel modules ------------------------------------------------------------

def modinfo(path):
    """The .modinfo section of a module as a dictionary (the first value of a key counts)."""
    with open(path, "rb") as f:
        data = f.read()
    try:
        if data[:5] != b"\x7fELF\x02":
            raise ValueError
        shoff, = struct.unpack_from("<Q", data, 0x28)
        size, count, names = struct.unpack_from("<HHH", data, 0x3a)
        headers = [struct.unpack_from("<IIQQQQ", data, shoff + i * size) for i in range(count)]
        strings = headers[names][4]
        info = {}
        for name, _, _, _, offset, length in headers:
            if data[strings + name:].startswith(b".modinfo\0"):
                for item in data[offset:offset + length].split(b"\0"):
                    key, _, value = item.decode("utf-8", "replace").partition("=")
                    info.setdefault(key, value)
        return {key: info[key] for key in ("name", "vermagic", "depends")}
    except (ValueError, struct.error, IndexError, KeyError):
        raise VmError("%s is not a kernel module" % path)


def depends(path):
    return [name.replace("-", "_") for name in modinfo(path)["depends"].split(",") if name]


def load_order(names, modules):
    """The modules in names and all they depend on, dependencies first; built-in ones left out."""
    order = []

    def visit(name):
        if name in order or name not in modules:
            return
        for dep in depends(modules[name]):
            visit(dep)
        order.append(name)

    for name in names:
        visit(name)
    return order


# -- programs --------------------------------------------------------------------

def is_dynamic(path):
    """True for a program or library for this machine that names an ELF interpreter or needs one."""
    with open(path, "rb") as f:
        head = f.read(20)
    if head[:4] != b"\x7fELF" or head[4] != 2 or head[18:20] != b"\x3e\x00":
        return False
    return head[16] in (2, 3)


def libraries(path, search):
    """(name in the guest, path on the host) of each library a dynamic program needs."""
    if not is_dynamic(path):
        return []
    env = dict(os.environ, LC_ALL="C")
    if search:
        env["LD_LIBRARY_PATH"] = ":".join(search)
    out = subprocess.run(["ldd", path], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         universal_newlines=True).stdout
    found = []
    for line in out.splitlines():
        m = re.match(r"\s*(\S+) => (\S.*?)(?: \(0x[0-9a-f]+\))?$", line)
        if not m:
            continue
        if m.group(2) == "not found":
            raise VmError("%s needs %s, which this host does not have" % (path, m.group(1)))
        found.append((m.group(1), m.group(2)))
    return found


# -- the archive -------------------------------------------------------------------

class Cpio:
    def __init__(self):
        self.parts = []
        self.dirs = set()
        self.ino = 1

    def _entry(self, name, mode, data=b""):
        name = name.lstrip("/").encode() + b"\0"
        head = "070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X" % (
            self.ino, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name), 0)
        self.ino += 1
        pad = b"\0" * (-(110 + len(name)) % 4)
        self.parts += [head.encode(), name, pad, data, b"\0" * (-len(data) % 4)]

    def dir(self, name):
        name = name.strip("/")
        if name and name not in self.dirs:
            self.dir(os.path.dirname(name))
            self.dirs.add(name)
            self._entry(name, stat.S_IFDIR | 0o755)

    def file(self, name, data, mode=0o644):
        self.dir(os.path.dirname(name))
        self._entry(name, stat.S_IFREG | mode, data)

    def copy(self, name, path, mode=0o755):
        with open(path, "rb") as f:
            self.file(name, f.read(), mode)

    def link(self, name, target):
        self.dir(os.path.dirname(name))
        self._entry(name, stat.S_IFLNK | 0o777, target.encode())

    def data(self):
        self._entry("TRAILER!!!", 0)
        return b"".join(self.parts)


def agent():
    """The agent's binary, compiled when a source of it is newer."""
    sources = [os.path.join(VM_DIR, name) for name in ("agent.c", "agent-port.c", "agent.h")]
    binary = os.path.join(CACHE, "agent")
    newest = max(os.stat(path).st_mtime for path in sources)
    if os.path.exists(binary) and os.stat(binary).st_mtime >= newest:
        return binary
    cc = shutil.which("gcc") or shutil.which("cc")
    if not cc:
        raise VmError("no C compiler; run scripts/setup vm")
    os.makedirs(CACHE, exist_ok=True)
    part = "%s.%d" % (binary, os.getpid())
    made = subprocess.run([cc, "-std=gnu11", "-Os", "-Wall", "-Wextra", "-static", "-s",
                           "-o", part] + sources[:2])
    if made.returncode:
        raise VmError("the agent does not compile (messages above)")
    os.replace(part, binary)
    return binary


def _busybox():
    for path in ("/bin/busybox", "/usr/bin/busybox"):
        if os.path.exists(path):
            with open(path, "rb") as f:
                if b"ld-linux" not in f.read(4096):
                    return path
    raise VmError("no static busybox; run scripts/setup vm")


def build(kernel):
    """The initramfs for a kernel: bytes, and the list of modules in the order to preload them."""
    from .kernels import PRELOAD
    cpio = Cpio()
    for name in ("proc", "sys", "dev", "tmp", "run", "root", "t", "etc", "usr/bin", "sbin"):
        cpio.dir(name)
    cpio.copy("/init", agent())
    cpio.link("/bin/agent", "/init")
    busybox = _busybox()
    cpio.copy("/bin/busybox", busybox)
    applets = subprocess.run([busybox, "--list"], stdout=subprocess.PIPE, check=True,
                             universal_newlines=True).stdout.split()
    for applet in applets:
        if applet != "busybox":
            cpio.link("/bin/" + applet, "busybox")
    cpio.link("/usr/bin/env", "/bin/busybox")
    for applet in ("modprobe", "insmod", "rmmod"):
        cpio.link("/sbin/" + applet, "/bin/busybox")
    cpio.file("/etc/passwd", b"root:x:0:0:root:/root:/bin/sh\n"
                             b"nobody:x:65534:65534:nobody:/:/bin/sh\n")
    cpio.file("/etc/group", b"root:x:0:\nnogroup:x:65534:\n")

    if os.path.exists(LOADER):
        cpio.copy(LOADER, LOADER)
    for name in BASE_LIBS:
        path = os.path.join(LIB_DIR, name)
        if os.path.exists(path):
            cpio.copy(path, path)

    where = "/lib/modules/" + kernel.release
    order = load_order(sorted(kernel.modules), kernel.modules)
    lines = []
    for name in order:
        cpio.copy("%s/%s.ko" % (where, name), kernel.modules[name], 0o644)
        closure = load_order(depends(kernel.modules[name]), kernel.modules)
        lines.append("%s.ko:%s" % (name, "".join(" %s.ko" % d for d in reversed(closure))))
    cpio.file(where + "/modules.dep", "".join(l + "\n" for l in lines).encode())
    return cpio.data(), load_order(PRELOAD, kernel.modules)


def inputs(kernel):
    """Everything that goes into the initramfs and the boot, as text to hash: sizes and times."""
    paths = [agent(), _busybox(), kernel.image, LOADER, os.path.join(VM_DIR, "vmlib", "image.py")]
    paths += [os.path.join(LIB_DIR, name) for name in BASE_LIBS]
    paths += [kernel.modules[name] for name in sorted(kernel.modules)]
    text = []
    for path in paths:
        if os.path.exists(path):
            st = os.stat(path)
            text.append("%s %d %d" % (path, st.st_size, st.st_mtime_ns))
    return "\n".join(text)


def digest(*texts):
    h = hashlib.sha256()
    for text in texts:
        h.update(text if isinstance(text, bytes) else text.encode())
        h.update(b"\0")
    return h.hexdigest()[:16]
