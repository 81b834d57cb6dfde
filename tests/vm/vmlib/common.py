# SPDX-License-Identifier: MIT
"""Where things lie, the error type that ends the program, and the verdict codes."""

import contextlib
import fcntl
import os
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
VM_DIR = os.path.join(ROOT, "tests", "vm")
BUILD = os.path.realpath(os.environ.get("VRDU_BUILD") or os.path.join(ROOT, "build"))
CACHE = os.path.join(BUILD, "vm")

# Exit codes of "vrdu-vm run" that do not come from the command in the guest.
SETUP = 95    # a file, a module or a library could not be brought in (or fetched)
DIED = 96     # the machine ended before it was told to
FAULT = 97    # the kernel log, the taint or the unloading shows a fault
HUNG = 98     # the time limit passed
NO_BOOT = 99  # the machine never came up

VERDICTS = {SETUP: "setup failed", DIED: "machine died", FAULT: "kernel fault",
            HUNG: "hung", NO_BOOT: "no boot"}


class VmError(Exception):
    """Something outside the guest is wrong: one sentence with the cause, and the cure."""


def say(text):
    print("vrdu-vm: " + text, file=sys.stderr, flush=True)


def time_scale():
    """The user's factor on every time limit (a slow or a busy host)."""
    text = os.environ.get("VRDU_VM_SCALE", "1")
    try:
        scale = float(text)
    except ValueError:
        scale = 0
    if not 0.1 <= scale <= 100:
        raise VmError("VRDU_VM_SCALE=%s is not a factor between 0.1 and 100" % text)
    return scale


@contextlib.contextmanager
def locked(name):
    """One process at a time builds a thing in the cache; the others wait and then find it."""
    os.makedirs(CACHE, exist_ok=True)
    with open(os.path.join(CACHE, name + ".lock"), "w") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        yield
