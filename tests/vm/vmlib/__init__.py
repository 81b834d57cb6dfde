# SPDX-License-Identifier: MIT
"""The parts of vrdu-vm, one idea a file; ../README.md tells how they fit together."""
