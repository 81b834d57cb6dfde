// SPDX-License-Identifier: MIT
/*
 * Conformance: the device's facts, option structs, contexts, buffers.
 */
#include "cts.h"

static void test_info(void **state)
{
	struct vrdu_device_info i;
	struct { struct vrdu_device_info info; char more[16]; } longer;
	char name[8];

	(void)state;
	OK(vrdu_device_get_info(cts.dev, &i, sizeof(i)));
	assert_true(!strcmp(i.backend, "node") || !strcmp(i.backend, "sim"));
	assert_true(*i.path && *i.profile && *i.math);
	assert_true(i.pcus && i.pmus && i.agcus && i.pmu_bytes && i.clock_khz);
	assert_true(i.max_calls >= 16);
	assert_true(i.page_bytes && !(i.page_bytes & (i.page_bytes - 1)));
	assert_true(i.hbm_bytes && i.hbm_bytes_per_s && i.ddr_bytes);
	/* A shorter struct gets a prefix, a longer one zeros. */
	OK(vrdu_device_get_info(cts.dev, (struct vrdu_device_info *)name, sizeof(name)));
	assert_memory_equal(name, i.backend, sizeof(name));
	memset(&longer, 0xff, sizeof(longer));
	OK(vrdu_device_get_info(cts.dev, &longer.info, sizeof(longer)));
	assert_memory_equal(&longer.info, &i, sizeof(i));
	assert_int_equal(longer.more[0] | longer.more[15], 0);
	FAILS(vrdu_device_get_info(NULL, &i, sizeof(i)), -EINVAL, "no device");
}

static void test_open_refuses(void **state)
{
	struct { struct vrdu_device_opts o; uint64_t more; } opts = { .o.size = sizeof(opts) };
	struct vrdu_device *dev = (void *)1;

	(void)state;
	FAILS(vrdu_device_open("nonsense", NULL, &dev), -EINVAL, "neither sim");
	FAILS(vrdu_device_open("sim:nonsense", NULL, &dev), -EINVAL, "unknown profile");
	FAILS(vrdu_device_open("/dev/null", NULL, &dev), -ENODEV, "not a node");
	FAILS(vrdu_device_open("/nowhere/at/all", NULL, &dev), -ENOENT, "cannot open");
	FAILS(vrdu_device_open("sim", NULL, NULL), -EINVAL, "no place");
	opts.more = 1;
	FAILS(vrdu_device_open("sim", &opts.o, &dev), -E2BIG, "is set");
	opts.o.size = 3;
	FAILS(vrdu_device_open("sim", &opts.o, &dev), -EINVAL, "size");
	/* Left alone on failure. */
	assert_ptr_equal(dev, (void *)1);
	opts.o.size = sizeof(opts);
	opts.more = 0;
	OK(vrdu_device_open("sim", &opts.o, &dev));
	vrdu_device_unref(dev);
}

/* A second handle of the same device is independent. */
static void test_open_twice(void **state)
{
	struct vrdu_context *ctx;
	struct vrdu_device *dev;

	(void)state;
	OK(vrdu_device_open(cts.selector, NULL, &dev));
	OK(vrdu_context_create(dev, &ctx));
	/* The child keeps its parent alive. */
	vrdu_device_unref(dev);
	assert_ptr_equal(vrdu_context_device(ctx), dev);
	assert_int_equal(status(ctx).completed, 0);
	vrdu_context_unref(ctx);
	vrdu_context_unref(NULL);
	vrdu_device_unref(NULL);
	vrdu_bo_unref(NULL);
}

static void test_fresh_status(void **state)
{
	struct vrdu_context_status s = status(*state);

	assert_int_equal(s.error, 0);
	assert_int_equal(s.completed, 0);
	assert_int_equal(s.fault.code, VRDU_FAULT_NONE);
	assert_int_equal(s.counters.calls, 0);
	assert_int_equal(s.counters.busy_ps, 0);
}

static void test_bo_zeroed(void **state)
{
	struct vrdu_bo *bo = kit_bo(*state, 3 * cts.info.page_bytes + 1, 0);
	unsigned char *p;
	void *map;
	uint64_t i;

	assert_int_equal(vrdu_bo_size(bo), 4 * cts.info.page_bytes);
	assert_true(vrdu_bo_address(bo));
	assert_int_equal(vrdu_bo_address(bo) % cts.info.page_bytes, 0);
	OK(vrdu_bo_map(bo, &map));
	for (p = map, i = 0; i < vrdu_bo_size(bo); i++)
		assert_int_equal(p[i], 0);
	vrdu_bo_unref(bo);
}

static void test_bo_read_write(void **state)
{
	struct vrdu_bo *bo = kit_bo(*state, 1, VRDU_BO_DDR);
	uint64_t size = vrdu_bo_size(bo);
	char a[64], b[64];
	void *map;

	memset(a, 0x5a, sizeof(a));
	OK(vrdu_bo_write(bo, 100, a, sizeof(a)));
	OK(vrdu_bo_read(bo, 100, b, sizeof(b)));
	assert_memory_equal(a, b, sizeof(a));
	OK(vrdu_bo_map(bo, &map));
	assert_memory_equal((char *)map + 100, a, sizeof(a));
	assert_int_equal(((char *)map)[99], 0);
	OK(vrdu_bo_write(bo, size, a, 0));
	OK(vrdu_bo_write(bo, size - 1, a, 1));
	FAILS(vrdu_bo_write(bo, size - 1, a, 2), -EINVAL, "exceed");
	FAILS(vrdu_bo_read(bo, size + 1, b, 0), -EINVAL, "exceed");
	FAILS(vrdu_bo_read(bo, UINT64_MAX, b, 8), -EINVAL, "exceed");
	FAILS(vrdu_bo_read(bo, 0, NULL, 8), -EINVAL, "no data");
	vrdu_bo_unref(bo);
}

static void test_bo_refuses(void **state)
{
	struct vrdu_bo *bo = NULL;
	void *map;
	char c;

	FAILS(vrdu_bo_create(*state, 0, 0, &bo), -EINVAL, "size is 0");
	FAILS(vrdu_bo_create(*state, 1, 0x80, &bo), -EINVAL, "flags 0x80");
	FAILS(vrdu_bo_create(NULL, 1, 0, &bo), -EINVAL, "no context");
	FAILS(vrdu_bo_create(*state, UINT64_MAX, 0, &bo), -ENOSPC, "address space");
	/* The tier's capacity holds for phantom buffers too. */
	FAILS(vrdu_bo_create(*state, cts.info.hbm_bytes + 1, VRDU_BO_PHANTOM, &bo), -ENOSPC,
	      "HBM");
	assert_null(bo);
	bo = kit_bo(*state, 1, VRDU_BO_PHANTOM);
	FAILS(vrdu_bo_map(bo, &map), -EINVAL, "phantom");
	FAILS(vrdu_bo_read(bo, 0, &c, 1), -EINVAL, "phantom");
	vrdu_bo_unref(bo);
}

static void test_capacity_comes_back(void **state)
{
	struct vrdu_bo *bo;
	uint32_t i;

	for (i = 0; i < 3; i++) {
		bo = kit_bo(*state, cts.info.hbm_bytes / 4 * 3, VRDU_BO_PHANTOM);
		FAILS(vrdu_bo_create(*state, cts.info.hbm_bytes / 2, VRDU_BO_PHANTOM, &bo), -ENOSPC,
		      "HBM");
		vrdu_bo_unref(bo);
	}
}

/* Many buffers: distinct ranges, a gap after each, no address again at once. */
static void test_addresses(void **state)
{
	struct vrdu_bo *bo[64];
	uint64_t last, page = cts.info.page_bytes;
	uint32_t i, k;

	for (i = 0; i < 64; i++)
		bo[i] = kit_bo(*state, (i % 5 + 1) * page, 0);
	for (i = 0; i < 64; i++)
		for (k = 0; k < i; k++)
			assert_true(vrdu_bo_address(bo[i]) >=
				    vrdu_bo_address(bo[k]) + vrdu_bo_size(bo[k]) + page ||
				    vrdu_bo_address(bo[k]) >=
				    vrdu_bo_address(bo[i]) + vrdu_bo_size(bo[i]) + page);
	last = vrdu_bo_address(bo[10]);
	for (i = 0; i < 64; i += 2)
		vrdu_bo_unref(bo[i]);
	bo[0] = kit_bo(*state, page, 0);
	assert_true(vrdu_bo_address(bo[0]) != last);
	vrdu_bo_unref(bo[0]);
	for (i = 1; i < 64; i += 2)
		vrdu_bo_unref(bo[i]);
}

CTS_TABLE(device, T(test_info), T(test_open_refuses), T(test_open_twice), T(test_fresh_status));
CTS_TABLE(memory, T(test_bo_zeroed), T(test_bo_read_write), T(test_bo_refuses),
	  T(test_capacity_comes_back), T(test_addresses));
