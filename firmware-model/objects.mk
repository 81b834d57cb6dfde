# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# What the firmware model consists of: the one list, for Kbuild and user space.
#
# The includer sets FM_DIR to this directory with a slash at the end (for Kbuild
# relative to $(obj)), and adds -I$(FM_DIR) and -I for uapi/. Then:
#
#   FM_OBJS           all objects
#   FM_SRCS           all sources
#   fm_math_cflags    user space: extra flags by name, see math/flags.mk

FM_NAMES := fm_cost fm_cp fm_device fm_exec fm_fire fm_fire_math fm_game \
	    fm_image fm_kinds fm_log fm_profile fm_program fm_shape \
	    fm_verify fm_verify_addr fm_verify_flow fm_verify_graph fm_verify_place

FM_MATH_DIR := $(FM_DIR)math/
include $(if $(src),$(src)/)$(FM_DIR)math/flags.mk

FM_OBJS := $(patsubst %,$(FM_DIR)%.o,$(FM_NAMES)) $(FM_MATH_OBJS)
FM_SRCS := $(patsubst %,$(FM_DIR)%.c,$(FM_NAMES)) $(FM_MATH_SRCS)
