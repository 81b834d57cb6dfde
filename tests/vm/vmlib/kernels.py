# SPDX-License-Identifier: MIT
"""The two kernels that a test machine can boot, and how they differ for the tests."""

import os
import subprocess

from .common import BUILD, ROOT, VmError

# Loaded before the machine is frozen, so that a test does not pay for it.
PRELOAD = ["drm", "drm_exec", "drm_gpuvm", "gpu_sched", "drm_kms_helper", "drm_shmem_helper"]


class Kernel:
    """kind, release, image, modules (name -> path), mem (MiB), and what is scaled by its speed.

    slow: the factor on a test's time limit against the stock kernel, also given to the test
    as VRDU_TIME_SCALE; boot_limit: seconds until the agent must have spoken.
    """

    def __init__(self, kind, image, release, modules, mem, slow, boot_limit, append):
        self.kind = kind
        self.image = image
        self.release = release
        self.modules = modules
        self.mem = mem
        self.slow = slow
        self.boot_limit = boot_limit
        self.append = append

    @property
    def debug(self):
        return self.kind == "debug"


def _modules_under(path):
    found = {}
    for where, _, names in os.walk(path):
        for name in names:
            if name.endswith(".ko"):
                found[name[:-3].replace("-", "_")] = os.path.join(where, name)
    return found


def _script(argv):
    try:
        subprocess.run(argv, check=True, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError):
        raise VmError("%s failed (its message stands above)" % os.path.relpath(argv[0], ROOT))


def stock(fetch=False):
    where = os.path.join(BUILD, "kernel")
    stamp = os.path.join(where, "release")
    if fetch or not os.path.exists(stamp):
        _script([os.path.join(ROOT, "scripts", "fetch-kernel"), where])
    with open(stamp) as f:
        release = f.read().split()[0]
    return Kernel("stock", os.path.join(where, "vmlinuz"), release,
                  _modules_under(os.path.join(where, "modules")),
                  mem=512, slow=1, boot_limit=120, append="")


def debug(fetch=False):
    where = os.path.join(BUILD, "debug-kernel")
    if fetch or not os.path.exists(os.path.join(where, "source")):
        _script([os.path.join(ROOT, "tests", "debug-kernel", "build"), "--ready"])
    base = os.path.join(where, "mods", "lib", "modules")
    releases = os.listdir(base) if os.path.isdir(base) else []
    if len(releases) != 1:
        raise VmError("%s does not hold exactly one kernel release; remove %s and run "
                      "tests/debug-kernel/build" % (base, where))
    modules = _modules_under(os.path.join(base, releases[0]))
    # They are there only because they select what the driver needs; nobody loads them.
    for name in ("panthor", "panfrost"):
        modules.pop(name, None)
    return Kernel("debug", os.path.join(where, "bzImage"), releases[0], modules,
                  mem=1024, slow=4, boot_limit=400, append="kmemleak=on")


def get(kind, fetch=False):
    return {"stock": stock, "debug": debug}[kind](fetch)
