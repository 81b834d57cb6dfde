# SPDX-License-Identifier: MIT
#
# vrdu: a virtual Reconfigurable Dataflow Unit for Linux. `make help` lists the targets.
#
# O=DIR builds elsewhere; W=1 and C=1 ask the kernel build for more warnings and
# for sparse; KDIR=DIR names a kernel build tree; SAN=1 builds user space with
# address and undefined behaviour sanitizers (use another O=).

, := ,
O ?= build
abs_O := $(abspath $(O))
KDIR ?= $(shell scripts/kernel-version --headers 2>/dev/null)
MODEL ?= models/scripture.gguf
# Sanitizers at -O2 take the compiler minutes.
SAN_OPT := $(if $(SAN),OPT='-O1 -g')
SAN_FLAGS := $(if $(SAN),-fsanitize=address$(,)undefined -fno-sanitize-recover=all)

.PHONY: all help setup lib llama tools module unit selftests models demo check check-quick \
	check-debug bench install clean checkpatch

all: module tools

help:
	@echo 'Main targets:'
	@echo '  demo         decode a text in a VM, per layer and looped (installs what is missing)'
	@echo '  check        everything that must stay green (installs what is missing)'
	@echo '  check-debug  the VM tests on a checking kernel (KASAN, lockdep, kmemleak)'
	@echo '  check-quick  the part of check that needs no VM'
	@echo '  all          vrdu.ko, libvrdu and vrdu'
	@echo '  tools        libvrdu and vrdu, in $(O)/lib and $(O)/tools'
	@echo '  module       $(O)/module/kmod/vrdu.ko'
	@echo '  models       the model in every file kind, in $(O)/models'
	@echo '  checkpatch   the style of the kernel side'
	@echo '  bench        benchmarks of the simulator: ratios within one run'
	@echo '  install      PREFIX=/usr/local DESTDIR=: library, header, tool, manual pages'
	@echo '  clean        remove $(O)/'
	@echo 'Variables: O= KDIR= W=1 C=1 SAN=1 MODEL='

setup:
	@scripts/setup build

lib:
	@$(MAKE) --no-print-directory -C libvrdu O=$(abs_O)/lib SAN='$(SAN_FLAGS)' $(SAN_OPT)

tools: lib
	@$(MAKE) --no-print-directory -C tools O=$(abs_O)/tools LIB_O=$(abs_O)/lib SAN='$(SAN_FLAGS)' $(SAN_OPT)

llama: lib
	@$(MAKE) --no-print-directory -C tools O=$(abs_O)/tools LIB_O=$(abs_O)/lib \
		SAN='$(SAN_FLAGS)' $(SAN_OPT) lib

# In a copy of the sources: see scripts/build-module.
module:
	@scripts/build-module $(KDIR) $(O)/module $(if $(W),W=$(W)) $(if $(C),C=$(C))

unit: lib llama
	@$(MAKE) --no-print-directory -C tests/unit O=$(abs_O)/unit LIB_O=$(abs_O)/lib \
		TOOLS_O=$(abs_O)/tools SAN='$(SAN_FLAGS)' $(SAN_OPT)

selftests:
	@$(MAKE) --no-print-directory -C tests/selftests O=$(abs_O)/selftests

models:
	@$(MAKE) --no-print-directory -C models O=$(abs_O)/models

demo:
	@scripts/setup build vm
	@scripts/demo $(MODEL)

check:
	@scripts/setup build vm check
	@$(MAKE) --no-print-directory all
	@tests/check --log $(O)/check tests/check.steps

check-quick:
	@scripts/setup build check
	@$(MAKE) --no-print-directory tools
	@tests/check --log $(O)/check tests/quick.steps

check-debug:
	@scripts/setup build vm debug-kernel
	@tests/check --log $(O)/check-debug tests/debug.steps

checkpatch:
	@scripts/checkpatch

bench: tools
	@$(MAKE) --no-print-directory -C tests/bench O=$(abs_O)/bench LIB_O=$(abs_O)/lib \
		TOOLS_O=$(abs_O)/tools run

install: tools
	@$(MAKE) --no-print-directory -C libvrdu O=$(abs_O)/lib install
	@$(MAKE) --no-print-directory -C tools O=$(abs_O)/tools LIB_O=$(abs_O)/lib install

clean:
	rm -rf $(O)
