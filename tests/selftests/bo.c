// SPDX-License-Identifier: GPL-2.0-only
/* vrdu selftest: buffers and mappings. */
#include "vrdu_test.h"
#include "patience.h"

FIXTURE(bo) {
	int fd;
};

FIXTURE_SETUP(bo)
{
	self->fd = node_open(0);
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(bo)
{
	close(self->fd);
}

static uint64_t used(int fd, bool ddr)
{
	struct drm_vrdu_memory_info m = {};

	query(fd, DRM_VRDU_QUERY_MEMORY, 0, &m, sizeof(m));
	return ddr ? m.ddr_used : m.hbm_used;
}

TEST_F(bo, sizes)
{
	static const uint64_t too_big[] = { ~0ull, ~0ull - 4094, ~0ull - 4095, 1ull << 44,
					    1ull << 63 };
	struct drm_vrdu_bo_create c = { .size = 1 };
	uint32_t handle;
	unsigned int i;

	EXPECT_EQ(-EINVAL, bo_create(self->fd, 0, 0, &handle));
	for (i = 0; i < 5; i++) {
		EXPECT_EQ(-ENOSPC, bo_create(self->fd, too_big[i], 0, &handle));
		EXPECT_EQ(-ENOSPC, bo_create(self->fd, too_big[i], DRM_VRDU_BO_PHANTOM, &handle));
		EXPECT_EQ(-ENOSPC, bo_create(self->fd, too_big[i], DRM_VRDU_BO_DDR, &handle));
	}
	/* Fits the tier, but not this machine. */
	EXPECT_EQ(-ENOMEM, bo_create(self->fd, 60ull << 30, 0, &handle));

	ASSERT_EQ(0, vioctl(self->fd, DRM_IOCTL_VRDU_BO_CREATE, &c));
	EXPECT_EQ(PAGE, c.size);
	EXPECT_NE(0, c.handle);
	EXPECT_EQ(0, gem_close(self->fd, c.handle));
	EXPECT_EQ(0, used(self->fd, false));
}

TEST_F(bo, tiers)
{
	struct drm_vrdu_memory_info m;
	uint32_t all, more, ddr;

	ASSERT_EQ(0, query(self->fd, DRM_VRDU_QUERY_MEMORY, 0, &m, sizeof(m)));
	ASSERT_EQ(0, bo_create(self->fd, m.hbm_total - PAGE, DRM_VRDU_BO_PHANTOM, &all));
	EXPECT_EQ(m.hbm_total - PAGE, used(self->fd, false));
	EXPECT_EQ(0, used(self->fd, true));
	EXPECT_EQ(-ENOSPC, bo_create(self->fd, 2 * PAGE, 0, &more));
	EXPECT_EQ(0, bo_create(self->fd, 2 * PAGE, DRM_VRDU_BO_DDR, &ddr));
	EXPECT_EQ(2 * PAGE, used(self->fd, true));
	ASSERT_EQ(0, bo_create(self->fd, PAGE, 0, &more));
	EXPECT_EQ(-ENOSPC, bo_create(self->fd, 1, 0, &ddr));
	EXPECT_EQ(0, gem_close(self->fd, all));
	EXPECT_EQ(PAGE, used(self->fd, false));
	EXPECT_EQ(0, bo_create(self->fd, 1, 0, &ddr));
}

TEST_F(bo, zeroed)
{
	size_t bytes = 64 * PAGE, i;
	uint32_t handle;
	int round;

	/* Twice: the second time the pages are likely to be the dirty ones. */
	for (round = 0; round < 2; round++) {
		unsigned char *mem;
		size_t dirty = 0;

		ASSERT_EQ(0, bo_create(self->fd, bytes, 0, &handle));
		mem = bo_map(self->fd, handle, bytes);
		ASSERT_NE(MAP_FAILED, (void *)mem);
		for (i = 0; i < bytes; i++)
			dirty += !!mem[i];
		EXPECT_EQ(0, dirty);
		memset(mem, 0xa5, bytes);
		munmap(mem, bytes);
		ASSERT_EQ(0, gem_close(self->fd, handle));
	}
}

/* Which page is it? Also after the head, the middle or the tail went away. */
TEST_F(bo, page_identity)
{
	enum { N = 40 };
	uint32_t *mem, handle;
	unsigned int i;

	ASSERT_EQ(0, bo_create(self->fd, N * PAGE, 0, &handle));
	mem = bo_map(self->fd, handle, N * PAGE);
	ASSERT_NE(MAP_FAILED, (void *)mem);
	for (i = 0; i < N; i++)
		mem[i * PAGE / 4] = 1000 + i;
	munmap(mem, N * PAGE);

	mem = bo_map(self->fd, handle, N * PAGE);
	ASSERT_NE(MAP_FAILED, (void *)mem);
	ASSERT_EQ(0, munmap(mem, 3 * PAGE));
	ASSERT_EQ(0, munmap((char *)mem + 20 * PAGE, 5 * PAGE));
	/* Downwards, so that the neighbours come before the page itself. */
	for (i = N - 1; i >= 3; i--) {
		if (i < 20 || i >= 25)
			EXPECT_EQ(1000 + i, mem[i * PAGE / 4]);
	}
	munmap((char *)mem + 3 * PAGE, (N - 3) * PAGE);

	/* Moved by mremap. */
	mem = bo_map(self->fd, handle, N * PAGE);
	ASSERT_NE(MAP_FAILED, (void *)mem);
	mem = mremap((char *)mem + 8 * PAGE, 4 * PAGE, 4 * PAGE, MREMAP_MAYMOVE);
	ASSERT_NE(MAP_FAILED, (void *)mem);
	for (i = 0; i < 4; i++)
		EXPECT_EQ(1008 + i, mem[i * PAGE / 4]);
	/* Growing would look beyond the object. */
	EXPECT_EQ(MAP_FAILED, mremap(mem, 4 * PAGE, 64 * PAGE, MREMAP_MAYMOVE));
}

TEST_F(bo, mmap_combinations)
{
	static const int prots[] = { PROT_NONE, PROT_READ, PROT_WRITE, PROT_READ | PROT_WRITE };
	uint64_t offset;
	uint32_t handle;
	unsigned int i;
	char *mem;

	ASSERT_EQ(0, bo_create(self->fd, 4 * PAGE, 0, &handle));
	ASSERT_EQ(0, bo_offset(self->fd, handle, &offset));

	for (i = 0; i < 4; i++) {
		/* Private mappings of PFNs would be fatal for mm: none may be made. */
		EXPECT_EQ(MAP_FAILED, mmap(NULL, 4 * PAGE, prots[i], MAP_PRIVATE, self->fd,
					   offset));
		mem = mmap(NULL, 4 * PAGE, prots[i], MAP_SHARED, self->fd, offset);
		ASSERT_NE(MAP_FAILED, mem);
		if (prots[i] & PROT_WRITE)
			mem[5] = 7;
		else if (prots[i] & PROT_READ)
			EXPECT_EQ(0, mem[PAGE]);
		munmap(mem, 4 * PAGE);
	}
	/* Part of the object from its start; nothing beyond it, before it or inside it. */
	mem = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, self->fd, offset);
	EXPECT_NE(MAP_FAILED, mem);
	EXPECT_EQ(7, mem[5]);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 5 * PAGE, PROT_READ, MAP_SHARED, self->fd, offset));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, PAGE, PROT_READ, MAP_SHARED, self->fd, offset - PAGE));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, PAGE, PROT_READ, MAP_SHARED, self->fd, 0));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, PAGE, PROT_READ, MAP_SHARED, self->fd, ~0ull - 4095));
}

TEST_F(bo, other_file)
{
	int other = node_open(0);
	uint64_t offset, none;
	uint32_t handle;

	ASSERT_LE(0, other);
	ASSERT_EQ(0, bo_create(self->fd, PAGE, 0, &handle));
	ASSERT_EQ(0, bo_offset(self->fd, handle, &offset));
	EXPECT_EQ(-ENOENT, bo_offset(other, handle, &none));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, PAGE, PROT_READ, MAP_SHARED, other, offset));
	EXPECT_EQ(EACCES, errno);
	close(other);
}

TEST_F(bo, outlives_its_handle)
{
	uint32_t handle;
	char *mem;

	ASSERT_EQ(0, bo_create(self->fd, 2 * PAGE, 0, &handle));
	mem = bo_map(self->fd, handle, 2 * PAGE);
	ASSERT_NE(MAP_FAILED, mem);
	strcpy(mem, "here");
	ASSERT_EQ(0, gem_close(self->fd, handle));
	EXPECT_EQ(0, strcmp(mem, "here"));
	mem[PAGE] = 1;
	EXPECT_EQ(2 * PAGE, used(self->fd, false));
	munmap(mem, 2 * PAGE);
	EXPECT_EQ(0, used(self->fd, false));
	EXPECT_NE(0, gem_close(self->fd, handle));
}

TEST_F(bo, phantom)
{
	uint64_t offset;
	uint32_t handle, ctx;
	struct drm_prime_handle prime = {};

	ASSERT_EQ(0, bo_create(self->fd, 1ull << 35, DRM_VRDU_BO_PHANTOM, &handle));
	EXPECT_EQ(-EINVAL, bo_offset(self->fd, handle, &offset));
	prime.handle = handle;
	EXPECT_EQ(-EINVAL, vioctl(self->fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime));
	ASSERT_EQ(0, ctx_create(self->fd, &ctx, NULL));
	EXPECT_EQ(0, vm_map(self->fd, ctx, handle, VA, 1ull << 35, 0));
	EXPECT_EQ(0, ctx_destroy(self->fd, ctx));
}

TEST_F(bo, status_page)
{
	uint64_t offset;
	uint32_t ctx;
	char *mem;
	int other;

	ASSERT_EQ(0, ctx_create(self->fd, &ctx, &offset));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, self->fd, offset));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd,
				   offset));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, PAGE, PROT_WRITE, MAP_SHARED, self->fd, offset));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, self->fd,
				   offset));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 2 * PAGE, PROT_READ, MAP_SHARED, self->fd, offset));

	mem = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, self->fd, offset);
	ASSERT_NE(MAP_FAILED, mem);
	EXPECT_EQ(0, mem[0]);
	EXPECT_EQ(-1, mprotect(mem, PAGE, PROT_READ | PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(-1, mprotect(mem, PAGE, PROT_WRITE));

	other = node_open(0);
	ASSERT_LE(0, other);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, PAGE, PROT_READ, MAP_SHARED, other, offset));
	close(other);

	/* Mapped, it stays; new mappings end with the context. */
	ASSERT_EQ(0, ctx_destroy(self->fd, ctx));
	EXPECT_EQ(0, mem[0]);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, PAGE, PROT_READ, MAP_SHARED, self->fd, offset));
}

TEST_F(bo, prime)
{
	struct drm_prime_handle out = { .flags = DRM_CLOEXEC | DRM_RDWR }, in = {};
	uint32_t handle;
	char *mem, *view;

	ASSERT_EQ(0, bo_create(self->fd, 4 * PAGE, 0, &handle));
	mem = bo_map(self->fd, handle, 4 * PAGE);
	ASSERT_NE(MAP_FAILED, mem);
	mem[2 * PAGE] = 42;

	out.handle = handle;
	ASSERT_EQ(0, vioctl(self->fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &out));
	view = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, out.fd, 0);
	ASSERT_NE(MAP_FAILED, view);
	EXPECT_EQ(42, view[2 * PAGE]);
	view[PAGE] = 43;
	EXPECT_EQ(43, mem[PAGE]);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, out.fd,
				   0));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 5 * PAGE, PROT_READ, MAP_SHARED, out.fd, 0));

	/* Back into the same file: the same object. */
	in.fd = out.fd;
	ASSERT_EQ(0, vioctl(self->fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &in));
	EXPECT_EQ(handle, in.handle);

	/* The memory lives as long as the dma-buf. */
	munmap(mem, 4 * PAGE);
	gem_close(self->fd, handle);
	EXPECT_EQ(43, view[PAGE]);
	munmap(view, 4 * PAGE);
	close(out.fd);
	EXPECT_EQ(0, used(self->fd, false));
}

/* From <linux/udmabuf.h>. */
struct test_udmabuf_create {
	__u32 memfd;
	__u32 flags;
	__u64 offset;
	__u64 size;
};

TEST_F(bo, foreign_import)
{
	struct drm_prime_handle in = {};
	struct test_udmabuf_create c = { .size = PAGE };
	int dev, mem;

	in.fd = -1;
	EXPECT_EQ(-EBADF, vioctl(self->fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &in));
	in.fd = self->fd;
	EXPECT_EQ(-EINVAL, vioctl(self->fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &in));

	dev = open("/dev/udmabuf", O_RDWR);
	if (dev < 0)
		SKIP(return, "no /dev/udmabuf");
	mem = memfd_create("x", MFD_ALLOW_SEALING);
	ASSERT_LE(0, mem);
	ASSERT_EQ(0, ftruncate(mem, PAGE));
	ASSERT_EQ(0, fcntl(mem, F_ADD_SEALS, F_SEAL_SHRINK));
	c.memfd = mem;
	in.fd = ioctl(dev, _IOW('u', 0x42, struct test_udmabuf_create), &c);
	ASSERT_LE(0, in.fd);
	EXPECT_EQ(-EINVAL, vioctl(self->fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &in));
}

TEST_HARNESS_MAIN
