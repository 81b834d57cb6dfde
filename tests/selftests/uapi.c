// SPDX-License-Identifier: GPL-2.0-only
/*
 * vrdu selftest: abuse of the interface. Every struct: layout, pads, flags,
 * strides, counts, sizes, pointers; a struct that ends at an unmapped page.
 */
#include "vrdu_test.h"
#include "patience.h"

/* Layout is ABI: sizes and the last field's end leave no room for a hidden hole. */
#define LAYOUT(type, size, last) \
	_Static_assert(sizeof(struct type) == (size) && (size) % 8 == 0 && \
		       offsetof(struct type, last) + sizeof(((struct type *)0)->last) == (size), \
		       #type)

LAYOUT(drm_vrdu_array, 16, array);
LAYOUT(drm_vrdu_query, 24, data);
LAYOUT(drm_vrdu_device_info, 136, math);
LAYOUT(drm_vrdu_memory_info, 32, ddr_used);
LAYOUT(drm_vrdu_context_info, 32, completed);
LAYOUT(drm_vrdu_host_counters, 64, fences);
LAYOUT(drm_vrdu_bo_create, 16, handle);
LAYOUT(drm_vrdu_bo_mmap_offset, 16, offset);
LAYOUT(drm_vrdu_context_create, 24, status_offset);
LAYOUT(drm_vrdu_context_destroy, 8, pad);
LAYOUT(drm_vrdu_bind_op, 40, size);
LAYOUT(drm_vrdu_vm_bind, 24, ops);
LAYOUT(drm_vrdu_program_create, 40, symbols);
LAYOUT(drm_vrdu_program_destroy, 8, id);
LAYOUT(drm_vrdu_call, 24, args);
LAYOUT(drm_vrdu_sync, 16, point);
LAYOUT(drm_vrdu_submit, 64, seqno);
LAYOUT(vrdu_packet, 64, pad);
LAYOUT(vrdu_fault_info, 40, seqno);
LAYOUT(vrdu_counters, 136, hbm_busy_ps);
LAYOUT(vrdu_status, 240, counters);

FIXTURE(uapi) {
	int fd;
	struct job job;
};

FIXTURE_SETUP(uapi)
{
	self->fd = node_open(0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, job_init(&self->job, self->fd, 4, 1));
}

FIXTURE_TEARDOWN(uapi)
{
	/* After all abuse the context still works. */
	EXPECT_EQ(0, job_submit(&self->job, NULL, NULL));
	EXPECT_EQ(0, job_wait(&self->job));
	EXPECT_EQ(1, job_fence_status(&self->job));
	job_fini(&self->job);
	close(self->fd);
}

TEST_F(uapi, unknown_ioctls)
{
	char arg[256] = {};
	int nr;

	for (nr = DRM_VRDU_SUBMIT + 1; nr < 0x60; nr++)
		EXPECT_EQ(-EINVAL, vioctl(self->fd, DRM_IOWR(DRM_COMMAND_BASE + nr, arg), arg));
	EXPECT_EQ(-ENOTTY, vioctl(self->fd, _IOWR('v', 0, arg), arg));
}

TEST_F(uapi, query_size)
{
	uint32_t types[] = { DRM_VRDU_QUERY_DEVICE, DRM_VRDU_QUERY_MEMORY,
			     DRM_VRDU_QUERY_CONTEXT, DRM_VRDU_QUERY_HOST };
	uint32_t sizes[] = { sizeof(struct drm_vrdu_device_info),
			     sizeof(struct drm_vrdu_memory_info),
			     sizeof(struct drm_vrdu_context_info),
			     sizeof(struct drm_vrdu_host_counters) };
	unsigned char buf[512], again[512];
	unsigned int i, k;

	for (i = 0; i < 4; i++) {
		struct drm_vrdu_query q = {
			.type = types[i],
			.id = types[i] == DRM_VRDU_QUERY_CONTEXT ? self->job.ctx : 0,
		};

		/* Size 0 asks. */
		ASSERT_EQ(0, vioctl(self->fd, DRM_IOCTL_VRDU_QUERY, &q));
		EXPECT_EQ(sizes[i], q.size);

		/* A longer buffer is zero-filled, and no byte beyond it is touched. */
		memset(buf, 0xff, sizeof(buf));
		q.size = 400;
		q.data = (uintptr_t)buf;
		ASSERT_EQ(0, vioctl(self->fd, DRM_IOCTL_VRDU_QUERY, &q));
		EXPECT_EQ(sizes[i], q.size);
		for (k = sizes[i]; k < 400; k++)
			EXPECT_EQ(0, buf[k]);
		for (; k < sizeof(buf); k++)
			EXPECT_EQ(0xff, buf[k]);

		/* A short buffer gets a prefix. */
		memset(again, 0xff, sizeof(again));
		q.size = 5;
		q.data = (uintptr_t)again;
		ASSERT_EQ(0, vioctl(self->fd, DRM_IOCTL_VRDU_QUERY, &q));
		EXPECT_EQ(sizes[i], q.size);
		EXPECT_EQ(0xff, again[5]);
		if (types[i] != DRM_VRDU_QUERY_HOST) {
			EXPECT_EQ(0, memcmp(buf, again, 5));
		}

		/* No stack bytes: the same answer into dirty and into clean memory. */
		memset(again, 0, sizeof(again));
		q.size = sizes[i];
		ASSERT_EQ(0, vioctl(self->fd, DRM_IOCTL_VRDU_QUERY, &q));
		if (types[i] != DRM_VRDU_QUERY_HOST) {
			EXPECT_EQ(0, memcmp(buf, again, sizes[i]));
		}
	}
}

TEST_F(uapi, query_refusals)
{
	struct drm_vrdu_query good = { .type = DRM_VRDU_QUERY_DEVICE }, q;

	q = good;
	q.pad = 1;
	EXPECT_EQ(-EINVAL, vioctl(self->fd, DRM_IOCTL_VRDU_QUERY, &q));
	q = good;
	q.type = 4;
	EXPECT_EQ(-EINVAL, vioctl(self->fd, DRM_IOCTL_VRDU_QUERY, &q));
	q = good;
	q.type = ~0u;
	EXPECT_EQ(-EINVAL, vioctl(self->fd, DRM_IOCTL_VRDU_QUERY, &q));
	q = good;
	q.id = 1;
	EXPECT_EQ(-EINVAL, vioctl(self->fd, DRM_IOCTL_VRDU_QUERY, &q));
	q = good;
	q.size = 65537;
	EXPECT_EQ(-EINVAL, vioctl(self->fd, DRM_IOCTL_VRDU_QUERY, &q));
	q = good;
	q.size = 8;
	q.data = 8;
	EXPECT_EQ(-EFAULT, vioctl(self->fd, DRM_IOCTL_VRDU_QUERY, &q));
	q.data = ~0ull;
	EXPECT_EQ(-EFAULT, vioctl(self->fd, DRM_IOCTL_VRDU_QUERY, &q));
	q = (struct drm_vrdu_query) { .type = DRM_VRDU_QUERY_CONTEXT, .id = 77 };
	EXPECT_EQ(-ENOENT, vioctl(self->fd, DRM_IOCTL_VRDU_QUERY, &q));
	q.id = 0;
	EXPECT_EQ(-ENOENT, vioctl(self->fd, DRM_IOCTL_VRDU_QUERY, &q));
}

TEST_F(uapi, device_info)
{
	struct drm_vrdu_device_info info = {};

	ASSERT_EQ(0, query(self->fd, DRM_VRDU_QUERY_DEVICE, 0, &info, sizeof(info)));
	EXPECT_NE(0, info.profile[0]);
	EXPECT_EQ(0, info.profile[15]);
	EXPECT_NE(0, info.math[0]);
	EXPECT_EQ(0, info.math[15]);
	EXPECT_EQ(0, info.instance);
	EXPECT_EQ(PAGE, info.page_bytes);
	EXPECT_EQ(VRDU_IMAGE_MAJOR, info.image_major);
	EXPECT_LT(0, info.pcus);
	EXPECT_LE(info.max_calls, info.ring_packets);
	EXPECT_LT(info.va_start, info.va_end);
	EXPECT_EQ(0, info.va_start % PAGE);
}

TEST_F(uapi, context_limit)
{
	struct drm_vrdu_device_info info;
	uint32_t id, first, i;

	ASSERT_EQ(0, query(self->fd, DRM_VRDU_QUERY_DEVICE, 0, &info, sizeof(info)));
	/* The fixture has one. */
	for (i = 1; i < info.max_contexts; i++)
		ASSERT_EQ(0, ctx_create(self->fd, i == 1 ? &first : &id, NULL));
	EXPECT_EQ(-ENOSPC, ctx_create(self->fd, &id, NULL));
	ASSERT_EQ(0, ctx_destroy(self->fd, first));
	EXPECT_EQ(-ENOENT, ctx_destroy(self->fd, first));
	EXPECT_EQ(0, ctx_create(self->fd, &id, NULL));
	EXPECT_EQ(-ENOENT, ctx_destroy(self->fd, 0));
	EXPECT_EQ(-ENOENT, ctx_destroy(self->fd, ~0u));
}

TEST_F(uapi, pads_and_flags)
{
	struct drm_vrdu_bo_create bo = { .size = PAGE };
	struct drm_vrdu_bo_mmap_offset off = { .handle = self->job.bo };
	struct drm_vrdu_context_create cc = {};
	struct drm_vrdu_context_destroy cd = { .id = self->job.ctx };
	struct drm_vrdu_program_create pc = { .context = self->job.ctx };
	unsigned int bit;

	for (bit = 0; bit < 32; bit++) {
		uint32_t flag = 1u << bit;

		if (flag & ~(DRM_VRDU_BO_DDR | DRM_VRDU_BO_PHANTOM)) {
			bo.flags = flag;
			EXPECT_EQ(-EINVAL, vioctl(self->fd, DRM_IOCTL_VRDU_BO_CREATE, &bo));
		}
		off.pad = flag;
		EXPECT_EQ(-EINVAL, vioctl(self->fd, DRM_IOCTL_VRDU_BO_MMAP_OFFSET, &off));
		cc = (struct drm_vrdu_context_create) { .flags = flag };
		EXPECT_EQ(-EINVAL, vioctl(self->fd, DRM_IOCTL_VRDU_CONTEXT_CREATE, &cc));
		cc = (struct drm_vrdu_context_create) { .pad = flag };
		EXPECT_EQ(-EINVAL, vioctl(self->fd, DRM_IOCTL_VRDU_CONTEXT_CREATE, &cc));
		cc = (struct drm_vrdu_context_create) { .kind = flag };
		EXPECT_EQ(-EINVAL, vioctl(self->fd, DRM_IOCTL_VRDU_CONTEXT_CREATE, &cc));
		cd.pad = flag;
		EXPECT_EQ(-EINVAL, vioctl(self->fd, DRM_IOCTL_VRDU_CONTEXT_DESTROY, &cd));
		pc.flags = flag;
		pc.image_size = 64;
		pc.image = (uintptr_t)&pc;
		EXPECT_EQ(-EINVAL, vioctl(self->fd, DRM_IOCTL_VRDU_PROGRAM_CREATE, &pc));
	}
}

TEST_F(uapi, bind_struct)
{
	struct drm_vrdu_bind_op good = {
		.op = DRM_VRDU_BIND_MAP, .handle = self->job.bo, .va = VA + 16 * PAGE, .size = PAGE,
	}, op;
	struct drm_vrdu_vm_bind b;
	struct {
		struct drm_vrdu_bind_op op;
		uint64_t tail[2];
	} longer = { .op = good };
	unsigned int i;

#define BIND(...) ({ \
	op = good; \
	__VA_ARGS__; \
	vm_bind(self->fd, self->job.ctx, &op, 1); \
})
	EXPECT_EQ(-EINVAL, BIND(op.op = 2));
	EXPECT_EQ(-EINVAL, BIND(op.op = ~0u));
	for (i = 1; i < 32; i++)
		EXPECT_EQ(-EINVAL, BIND(op.flags = 1u << i));
	EXPECT_EQ(-EINVAL, BIND(op.pad = 1));
	EXPECT_EQ(-EINVAL, BIND(op.size = 0));
	EXPECT_EQ(-EINVAL, BIND(op.size = 1));
	EXPECT_EQ(-EINVAL, BIND(op.size = 3 * PAGE));
	EXPECT_EQ(-EINVAL, BIND(op.size = ~0ull));
	EXPECT_EQ(-EINVAL, BIND(op.size = ~0ull - 4095));
	EXPECT_EQ(-EINVAL, BIND(op.bo_offset = ~0ull - 4095));
	EXPECT_EQ(-EINVAL, BIND(op.bo_offset = 2 * PAGE));
	EXPECT_EQ(-EINVAL, BIND(op.bo_offset = 8));
	EXPECT_EQ(-EINVAL, BIND(op.va = 0));
	EXPECT_EQ(-EINVAL, BIND(op.va = VA + 1));
	EXPECT_EQ(-EINVAL, BIND(op.va = ~0ull - 4095));
	EXPECT_EQ(-EINVAL, BIND(op.va = 1ull << 48));
	EXPECT_EQ(-ENOENT, BIND(op.handle = 0));
	EXPECT_EQ(-ENOENT, BIND(op.handle = ~0u));
	EXPECT_EQ(-EINVAL, BIND(op.op = DRM_VRDU_BIND_UNMAP));	/* a handle */
	EXPECT_EQ(-EINVAL, BIND(op.op = DRM_VRDU_BIND_UNMAP; op.handle = 0; op.flags = 1));
	EXPECT_EQ(-EINVAL, BIND(op.op = DRM_VRDU_BIND_UNMAP; op.handle = 0; op.bo_offset = PAGE));
#undef BIND

	b = (struct drm_vrdu_vm_bind) {
		.context = self->job.ctx, .ops = { sizeof(op), 0, (uintptr_t)&op },
	};
	EXPECT_EQ(-EINVAL, vioctl(self->fd, DRM_IOCTL_VRDU_VM_BIND, &b));
	b.ops.count = 1;
	b.flags = 1;
	EXPECT_EQ(-EINVAL, vioctl(self->fd, DRM_IOCTL_VRDU_VM_BIND, &b));
	b.flags = 0;
	b.ops.stride = sizeof(op) - 8;
	EXPECT_EQ(-EINVAL, vioctl(self->fd, DRM_IOCTL_VRDU_VM_BIND, &b));
	b.ops.stride = sizeof(op);
	for (i = 0; i < 3; i++) {
		b.ops.count = (uint32_t[]) { DRM_VRDU_MAX_BIND_OPS + 1, 1u << 30, ~0u }[i];
		EXPECT_EQ(-EINVAL, vioctl(self->fd, DRM_IOCTL_VRDU_VM_BIND, &b));
	}
	b.ops.count = 1;
	b.ops.array = 16;
	EXPECT_EQ(-EFAULT, vioctl(self->fd, DRM_IOCTL_VRDU_VM_BIND, &b));
	b.ops.array = (uintptr_t)&op;
	b.context = 0;
	EXPECT_EQ(-ENOENT, vioctl(self->fd, DRM_IOCTL_VRDU_VM_BIND, &b));

	/* A longer element: its tail must be zero. */
	b = (struct drm_vrdu_vm_bind) {
		.context = self->job.ctx, .ops = { sizeof(longer), 1, (uintptr_t)&longer },
	};
	longer.tail[1] = 1;
	EXPECT_EQ(-E2BIG, vioctl(self->fd, DRM_IOCTL_VRDU_VM_BIND, &b));
	longer.tail[1] = 0;
	EXPECT_EQ(0, vioctl(self->fd, DRM_IOCTL_VRDU_VM_BIND, &b));
	b.ops.stride = 1u << 20;
	EXPECT_EQ(-E2BIG, vioctl(self->fd, DRM_IOCTL_VRDU_VM_BIND, &b));
	b.ops.stride = ~0u;
	EXPECT_EQ(-E2BIG, vioctl(self->fd, DRM_IOCTL_VRDU_VM_BIND, &b));
}

TEST_F(uapi, submit_struct)
{
	uint64_t args[2] = { VA, VA + PAGE };
	struct drm_vrdu_call good = {
		.program = self->job.program, .arg_count = 2, .args = (uintptr_t)args,
	}, call;
	struct drm_vrdu_sync sync = { .handle = self->job.sync };
	struct drm_vrdu_submit s;
	unsigned int i;

#define SUBMIT(...) ({ \
	call = good; \
	s = (struct drm_vrdu_submit) { \
		.context = self->job.ctx, .calls = { sizeof(call), 1, (uintptr_t)&call }, \
	}; \
	__VA_ARGS__; \
	vioctl(self->fd, DRM_IOCTL_VRDU_SUBMIT, &s); \
})
	EXPECT_EQ(-ENOENT, SUBMIT(s.context = 0));
	EXPECT_EQ(-ENOENT, SUBMIT(s.context = ~0u));
	EXPECT_EQ(-EINVAL, SUBMIT(s.calls.count = 0));
	EXPECT_EQ(-EINVAL, SUBMIT(s.calls.count = DRM_VRDU_MAX_CALLS + 1));
	EXPECT_EQ(-EINVAL, SUBMIT(s.calls.count = ~0u));
	EXPECT_EQ(-EINVAL, SUBMIT(s.calls.count = 1u << 30));
	EXPECT_EQ(-EINVAL, SUBMIT(s.calls.stride = 16));
	EXPECT_EQ(-EFAULT, SUBMIT(s.calls.array = 0));
	EXPECT_EQ(-EFAULT, SUBMIT(s.calls.array = ~0ull));
	for (i = 0; i < 32; i++) {
		EXPECT_EQ(-EINVAL, SUBMIT(s.flags = 1u << i));
		EXPECT_EQ(-EINVAL, SUBMIT(call.pad = 1u << i));
		if (1u << i & ~VRDU_CALL_FLAGS)
			EXPECT_EQ(-EINVAL, SUBMIT(call.flags = 1u << i));
	}
	EXPECT_EQ(-ENOENT, SUBMIT(call.program = 0));
	EXPECT_EQ(-ENOENT, SUBMIT(call.program = ~0u));
	EXPECT_EQ(-EINVAL, SUBMIT(call.arg_count = 0));
	EXPECT_EQ(-EINVAL, SUBMIT(call.arg_count = 1));
	EXPECT_EQ(-EINVAL, SUBMIT(call.arg_count = VRDU_MAX_ARGS + 1));
	EXPECT_EQ(-EINVAL, SUBMIT(call.arg_count = ~0u));
	EXPECT_EQ(-EFAULT, SUBMIT(call.args = 0));

#define IN(...) SUBMIT(struct drm_vrdu_sync x = sync; \
	s.in_syncs = (struct drm_vrdu_array) { sizeof(x), 1, (uintptr_t)&x }; __VA_ARGS__)
#define OUT(...) SUBMIT(struct drm_vrdu_sync x = sync; \
	s.out_syncs = (struct drm_vrdu_array) { sizeof(x), 1, (uintptr_t)&x }; __VA_ARGS__)
	EXPECT_EQ(-EINVAL, IN());			/* no fence yet */
	EXPECT_EQ(-ENOENT, IN(x.handle = 0));
	EXPECT_EQ(-ENOENT, IN(x.handle = ~0u));
	EXPECT_EQ(-EINVAL, IN(x.flags = 1));
	EXPECT_EQ(-EINVAL, IN(s.in_syncs.stride = 8));
	EXPECT_EQ(-EINVAL, IN(s.in_syncs.count = DRM_VRDU_MAX_SYNCS + 1));
	EXPECT_EQ(-EFAULT, IN(s.in_syncs.array = 8));
	EXPECT_EQ(-ENOENT, OUT(x.handle = 0));
	EXPECT_EQ(-ENOENT, OUT(x.handle = ~0u));
	EXPECT_EQ(-EINVAL, OUT(x.flags = 1u << 31));
	EXPECT_EQ(-EINVAL, OUT(s.out_syncs.stride = 1));
	EXPECT_EQ(-EINVAL, OUT(s.out_syncs.count = ~0u));
	EXPECT_EQ(-EFAULT, OUT(s.out_syncs.array = ~0ull - 15));

	/* Arrays that lie in the struct itself are only memory. */
	EXPECT_NE(0, SUBMIT(s.calls.array = (uintptr_t)&s));
	EXPECT_NE(0, SUBMIT(s.in_syncs = s.calls; s.in_syncs.array = (uintptr_t)&s));

	/* Nothing of all that got a sequence number. */
	EXPECT_EQ(0, self->job.status->completed);
#undef SUBMIT
#undef IN
#undef OUT
}

/* The kernel may touch the struct only: it ends where the page ends. */
TEST_F(uapi, overrun)
{
	char *area = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	uint64_t args[2] = { VA, VA + PAGE };
	struct drm_vrdu_call call = {
		.program = self->job.program, .arg_count = 2, .args = (uintptr_t)args,
	};
	struct drm_vrdu_bind_op op = { .op = DRM_VRDU_BIND_UNMAP, .va = VA + 64 * PAGE,
				       .size = PAGE };
	struct image img;

	ASSERT_NE(MAP_FAILED, area);
	ASSERT_EQ(0, mprotect(area + PAGE, PAGE, PROT_NONE));
	image_count(&img, JOB_COLS, 2, 1);

#define AT_END(cmd, ...) ({ \
	__typeof__(__VA_ARGS__) *at = (void *)(area + PAGE - sizeof(__VA_ARGS__)); \
	*at = __VA_ARGS__; \
	vioctl(self->fd, cmd, at); \
})
	EXPECT_EQ(0, AT_END(DRM_IOCTL_VRDU_QUERY, (struct drm_vrdu_query) {}));
	EXPECT_EQ(0, AT_END(DRM_IOCTL_VRDU_BO_CREATE,
			    (struct drm_vrdu_bo_create) { .size = 1 }));
	EXPECT_EQ(0, AT_END(DRM_IOCTL_VRDU_BO_MMAP_OFFSET,
			    (struct drm_vrdu_bo_mmap_offset) { .handle = self->job.bo }));
	EXPECT_EQ(0, AT_END(DRM_IOCTL_VRDU_CONTEXT_CREATE,
			    (struct drm_vrdu_context_create) {}));
	EXPECT_EQ(0, AT_END(DRM_IOCTL_VRDU_CONTEXT_DESTROY,
			    (struct drm_vrdu_context_destroy) { .id = self->job.ctx + 1 }));
	EXPECT_EQ(0, AT_END(DRM_IOCTL_VRDU_VM_BIND, (struct drm_vrdu_vm_bind) {
		.context = self->job.ctx, .ops = { sizeof(op), 1, (uintptr_t)&op } }));
	EXPECT_EQ(0, AT_END(DRM_IOCTL_VRDU_PROGRAM_CREATE, (struct drm_vrdu_program_create) {
		.context = self->job.ctx, .image = (uintptr_t)&img, .image_size = sizeof(img) }));
	EXPECT_EQ(0, AT_END(DRM_IOCTL_VRDU_PROGRAM_DESTROY, (struct drm_vrdu_program_destroy) {
		.context = self->job.ctx, .id = self->job.program + 1 }));
	EXPECT_EQ(0, AT_END(DRM_IOCTL_VRDU_SUBMIT, (struct drm_vrdu_submit) {
		.context = self->job.ctx, .calls = { sizeof(call), 1, (uintptr_t)&call } }));
#undef AT_END
}

/* A caller with an older, shorter struct: what it lacks counts as zero. */
TEST_F(uapi, short_struct)
{
	struct drm_vrdu_query q = { .type = DRM_VRDU_QUERY_MEMORY };

	EXPECT_EQ(0, vioctl(self->fd, _IOC(_IOC_READ | _IOC_WRITE, 'd',
					   DRM_COMMAND_BASE + DRM_VRDU_QUERY, 16), &q));
	EXPECT_EQ(sizeof(struct drm_vrdu_memory_info), q.size);
}

/* Without privileges all of the driver works, and what the core keeps for root does not. */
TEST_F(uapi, nobody)
{
	struct stat st;
	char path[64];
	int status;
	pid_t pid;

	ASSERT_EQ(true, node_path(0, path, sizeof(path)));
	ASSERT_EQ(0, stat(path, &st));
	ASSERT_EQ(0, chmod(path, 0666));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		struct drm_mode_create_dumb dumb = { .height = 1, .width = 1, .bpp = 32 };
		struct drm_gem_flink flink = {};
		struct job job;
		int fd;

		if (setgid(65534) || setuid(65534))
			_exit(1);
		fd = open(path, O_RDWR);
		if (fd < 0)
			_exit(2);
		if (job_init(&job, fd, 2, 1) || job_submit(&job, NULL, NULL) || job_wait(&job))
			_exit(3);
		if (!vioctl(fd, DRM_IOCTL_MODE_CREATE_DUMB, &dumb))
			_exit(4);
		flink.handle = job.bo;
		if (vioctl(fd, DRM_IOCTL_GEM_FLINK, &flink) != -EACCES)
			_exit(5);
		_exit(0);
	}
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	chmod(path, st.st_mode & 0777);
}

/* User pointers that lie in a mapping of the device itself. */
TEST_F(uapi, pointers_into_device_memory)
{
	struct drm_vrdu_call *call = (void *)((char *)self->job.mem + PAGE - sizeof(*call));
	struct drm_vrdu_submit s = {
		.context = self->job.ctx, .calls = { sizeof(*call), 1, (uintptr_t)call },
	};
	uint64_t *args = (void *)(call - 1);

	args[0] = VA;
	args[1] = VA + PAGE;
	*call = (struct drm_vrdu_call) {
		.program = self->job.program, .arg_count = 2, .args = (uintptr_t)args,
	};
	EXPECT_EQ(0, vioctl(self->fd, DRM_IOCTL_VRDU_SUBMIT, &s));
	EXPECT_EQ(0, query(self->fd, DRM_VRDU_QUERY_DEVICE, 0, self->job.mem, 64));
	/* The status page cannot be written, not by the kernel on our behalf either. */
	EXPECT_EQ(-EFAULT, query(self->fd, DRM_VRDU_QUERY_DEVICE, 0, (void *)self->job.status, 64));
}

TEST_HARNESS_MAIN
