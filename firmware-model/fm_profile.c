// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Fabric profiles: the one table of sizes and speeds of the modelled device.
 *
 * "sn40l" follows what is public about that part: 1,040 PCUs and PMUs of
 * 512 KiB, 64 GiB of HBM at 1.6 TB/s. Clock, lanes and the call phases are
 * estimates; they are inputs of the model, not measurements of silicon.
 */
#include "fm.h"

#define NS	1000ull		/* in picoseconds */
#define GIB	0x40000000ull

static const struct fm_profile profiles[] = {
	{
		.name = "sn40l",
		.pcus = 1040,
		.pmus = 1040,
		.agcus = 128,
		.pmu_bytes = 512 * 1024,
		.clock_khz = 1600000,
		.macs_per_cycle = 192,
		.lanes = 32,
		.hbm_bytes = 64 * GIB,
		.hbm_bytes_per_s = 1600000000000ull,
		.hbm_efficiency = 920,
		.ddr_bytes = 1536 * GIB,
		.hbm_latency_ps = 600 * NS,
		.pcu_latency_ps = 50 * NS,
		.program_load_ps = 5000 * NS,
		.arg_load_ps = 1000 * NS,
		.arg_load_each_ps = 5 * NS,
		.start_ps = 90 * NS,
		.done_ps = 1300 * NS,
	},
	{
		/* A small fabric: capacity refusals and contention at test sizes. */
		.name = "tiny",
		.pcus = 64,
		.pmus = 64,
		.agcus = 48,
		.pmu_bytes = 64 * 1024,
		.clock_khz = 1000000,
		.macs_per_cycle = 16,
		.lanes = 16,
		.hbm_bytes = GIB / 4,
		.hbm_bytes_per_s = 16000000000ull,
		.hbm_efficiency = 1000,
		.ddr_bytes = GIB,
		.hbm_latency_ps = 400 * NS,
		.pcu_latency_ps = 20 * NS,
		.program_load_ps = 2000 * NS,
		.arg_load_ps = 500 * NS,
		.arg_load_each_ps = 5 * NS,
		.start_ps = 50 * NS,
		.done_ps = 500 * NS,
	},
};

const struct fm_profile *fm_profile_at(u32 i)
{
	return i < ARRAY_SIZE(profiles) ? &profiles[i] : NULL;
}

const struct fm_profile *fm_profile_find(const char *name)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(profiles); i++)
		if (!strcmp(profiles[i].name, name))
			return &profiles[i];
	return NULL;
}
