# SPDX-License-Identifier: MIT
"""What counts as a fault of the kernel: lines of its log, and its taint.

FAULTS is a list of what the kernel's checkers print; ALLOWED names, with its reason, each line
that one of the patterns would catch although nothing is wrong.
"""

import re

FAULTS = [(name, re.compile(pattern)) for name, pattern in [
    ("BUG", r"\bBUG\b[: ]"),
    ("WARNING", r"\bWARNING: "),
    ("oops", r"\bOops\b"),
    ("kernel panic", r"Kernel panic"),
    ("protection fault", r"general protection fault|\bdouble fault\b|stack segment:|"
                         r"invalid opcode:|divide error:|Internal error:"),
    ("bad paging", r"[Uu]nable to handle (kernel|page|NULL)|Bad page state|Bad page map|"
                   r"bad pmd|Bad rss-counter"),
    ("corrupted stack", r"corrupted stack|stack guard page was hit|stack-protector"),
    ("KASAN", r"\bKASAN: "),
    ("KFENCE", r"\bKFENCE: "),
    ("KCSAN", r"\bKCSAN: "),
    ("KMSAN", r"\bKMSAN: "),
    ("UBSAN", r"\bUBSAN: "),
    ("lockdep", r"possible circular locking|possible recursive locking|inconsistent lock state|"
                r"held lock freed|lock held when returning|bad unlock balance|"
                r"bad contention detected|possible irq lock inversion|lock order inversion|"
                r"suspicious RCU usage|Invalid wait context|still has locks held|"
                r"trying to register non-static key|turning off the locking correctness|"
                r"lockdep is turned off|MAX_LOCK\w+ .*too low|nested lock was not taken"),
    ("atomic sleep", r"sleeping function called from invalid context|scheduling while atomic|"
                     r"exited with (preempt|irqs)|preempt_count .* is wrong"),
    ("list corruption", r"list_(add|del) corruption|slab.*corruption|object already free|"
                        r"Objects remaining in|still has objects"),
    ("refcount", r"refcount_t: "),
    ("debug objects", r"\bODEBUG: "),
    ("DMA API", r"\bDMA-API: .*(device driver|error|leak|not mapped|overlapping|exceed)"),
    ("leak", r"kmemleak: \d+ new suspected|unreferenced object"),
    ("hung task", r"task \S+ blocked for more than"),
    ("stall", r"rcu.*(detected stalls|self-detected stall|stall on)|soft lockup|hard LOCKUP|"
              r"workqueue lockup|Watchdog detected"),
    ("duplicate name", r"cannot create duplicate filename|kobject_add_internal failed|"
                       r"debugfs: .*already present|tried to init an initialized object"),
    ("memory manager", r"Memory manager not clean|drm_mm_takedown"),
    ("usercopy", r"usercopy: Kernel memory (exposure|overwrite)|memcpy: detected|"
                 r"detected buffer overflow"),
    ("module", r"Attempted to kill init|module verification failed: .*fatal|"
               r"unexpected unresolvable symbol"),
]]

# (name, pattern, reason)
ALLOWED = [(name, re.compile(pattern), why) for name, pattern, why in [
    ("fault injection", r"^FAULT_INJECTION: forcing a failure",
     "a test asked for it; what the driver makes of it is judged by its own lines"),
]]

# Bits of /proc/sys/kernel/tainted: (bit, letter, what it says).
TAINTS = ["P proprietary module", "F forced load", "S out of specification", "R forced unload",
          "M machine check", "B bad page", "U user request", "D oops", "A ACPI override",
          "W warning", "C staging driver", "I firmware workaround", "O out-of-tree module",
          "E unsigned module", "L soft lockup", "K live patch", "X auxiliary",
          "T struct randomisation", "N in-kernel test", "J fwctl"]
TAINT_OOPS = 1 << 7
# The driver under test is outside the tree and unsigned; nothing else may happen.
ALLOWED_TAINTS = (1 << 12) | (1 << 13)


def fault_in(text):
    """The name of the fault a line of the kernel log shows, or None."""
    for name, pattern in FAULTS:
        if pattern.search(text):
            for _, allowed, _ in ALLOWED:
                if allowed.search(text):
                    return None
            return name
    return None


def scan(records):
    """The faults in records of the kernel log, as lines "fault: text"."""
    found = []
    for _, seconds, text in records:
        name = fault_in(text)
        if name:
            found.append("%s: [%.3f] %s" % (name, seconds, text.strip()))
    return found


def scan_console(text):
    """The same on the text of the serial console, when the machine is gone."""
    return ["%s: %s" % (name, line.strip()) for line in text.splitlines()
            for name in [fault_in(line)] if name]


def taint_names(before, after):
    """What taint the run added beyond the allowed, as words."""
    new = after & ~before & ~ALLOWED_TAINTS
    return [TAINTS[bit] if bit < len(TAINTS) else "bit %d" % bit
            for bit in range(64) if new >> bit & 1]
