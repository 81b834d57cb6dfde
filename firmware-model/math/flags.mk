# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# How the arithmetic is built: the one place for its objects and flags. Kbuild
# and the user space Makefiles include it.
#
# Kbuild: set FM_MATH_DIR to this directory relative to $(obj) with a slash at
# the end, include this file, add $(FM_MATH_OBJS) to the module. The flags are
# then attached to each object here; -I for fm_port.h is the includer's.
#
# User space: compile each $(FM_MATH_SRCS) with the flags for everything else
# followed by $(call fm_math_cflags,NAME), NAME being the file's name without .c;
# with patterns: $(CC) $(CFLAGS) $(call fm_math_cflags,$(basename $(notdir $<))) -c
# Optimise (-O2): at -O0 the lanes live in memory and everything is 50 times slower.

# Floating-point objects; each function in them runs inside an FPU section.
FM_MATH_FP := math_scalar math_rope
ifeq ($(if $(CC_FLAGS_FPU),$(SRCARCH),$(shell $(CC) -dumpmachine | sed -n 's/^x86_64.*/x86/p')),x86)
FM_MATH_FP += math_sse2 math_avx2
endif
# Objects without floating point.
FM_MATH_INT := math_select

FM_MATH_SRCS := $(patsubst %,$(FM_MATH_DIR)%.c,$(FM_MATH_FP) $(FM_MATH_INT))
FM_MATH_OBJS := $(patsubst %,$(FM_MATH_DIR)%.o,$(FM_MATH_FP) $(FM_MATH_INT))

# One rounding per operation, square roots as instructions, and no trust in a
# surrounding -ffast-math. Never -mfma: not even by accident through -march=native.
FM_MATH_FP_CFLAGS := -fno-fast-math -ffp-contract=off -fno-math-errno
FM_MATH_CFLAGS_math_scalar := -fno-tree-vectorize -fno-tree-slp-vectorize
FM_MATH_CFLAGS_math_sse2 := -msse2 -mno-fma
FM_MATH_CFLAGS_math_avx2 := -mavx2 -mno-fma

fm_math_cflags = $(if $(filter $(1),$(FM_MATH_FP)),$(FM_MATH_FP_CFLAGS) $(FM_MATH_CFLAGS_$(1)))

# Inside Kbuild only: floating point on, then the flags above.
ifneq ($(CC_FLAGS_FPU),)
define fm_math_kbuild
CFLAGS_$(FM_MATH_DIR)$(1).o += $(CC_FLAGS_FPU) $(call fm_math_cflags,$(1))
CFLAGS_REMOVE_$(FM_MATH_DIR)$(1).o += $(CC_FLAGS_NO_FPU)
endef
$(foreach name,$(FM_MATH_FP),$(eval $(call fm_math_kbuild,$(name))))
endif
