// SPDX-License-Identifier: MIT
/*
 * The sim backend: the firmware model in this process, behind the same rings,
 * argument areas and status pages that the driver uses. A submission writes
 * packets, rings the doorbell and polls the queue in the caller's context, so
 * that its calls are complete when it returns; the results reach the library
 * only through the status page.
 *
 * The device lock stands for the device's thread: it guards the firmware
 * model, all queues and all address spaces. It comes after vrdu_context.lock.
 */
#include "ops.h"

#include "fm.h"
#include "sim.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>

#define SIM_PAGE	4096u
#define SIM_VA_START	0x100000ull
#define SIM_VA_END	(1ull << 47)
#define SIM_RING	1024u
#define SIM_MAX_THREADS	64u
#define SIM_BUDGET	64u

/**
 * struct sim_mapping - a buffer in an address space.
 * @va: First address.
 * @end: One past the last.
 * @ptr: Memory; NULL: phantom.
 * @read_only: The device may not write.
 */
struct sim_mapping {
	uint64_t va;
	uint64_t end;
	char *ptr;
	bool read_only;
};

/**
 * struct sim_context - an address space and its queue.
 * @queue: The device's view of the queue.
 * @ring: %SIM_RING packets.
 * @doorbell: Tail.
 * @args: Arguments: %VRDU_MAX_ARGS for each packet of the ring.
 * @status: Status page.
 * @seqno: Last sequence number given out.
 * @maps: Mappings by ascending address.
 * @n_maps: Their number.
 * @cap_maps: Room in @maps.
 * @hit: Mapping of the last hit.
 * @programs: By handle - 1; NULL: free.
 * @n_programs: Length of @programs.
 * @dev: Device.
 */
struct sim_context {
	struct fm_queue queue;
	struct vrdu_packet *ring;
	uint64_t doorbell;
	uint64_t *args;
	struct vrdu_status *status;
	uint64_t seqno;
	struct sim_mapping *maps;
	uint32_t n_maps;
	uint32_t cap_maps;
	uint32_t hit;
	struct fm_program **programs;
	uint32_t n_programs;
	struct sim_device *dev;
};

/**
 * struct sim_device - a socket.
 * @lock: See above.
 * @fm: Firmware model.
 * @profile: Fabric.
 * @host_ops: What it is lent.
 * @pool: Threads; NULL: none.
 * @contexts: Contexts made so far: numbers them.
 * @hbm_used: Bytes of all buffers in HBM.
 * @ddr_used: Bytes of all buffers in DDR.
 * @count: Host counters.
 */
struct sim_device {
	pthread_mutex_t lock;
	struct fm_device *fm;
	const struct fm_profile *profile;
	struct fm_host_ops host_ops;
	struct vrdu_pool *pool;
	uint32_t contexts;
	uint64_t hbm_used;
	uint64_t ddr_used;
	struct vrdu_host_counters count;
};

/* ---- what the firmware model is lent ---- */

/* First mapping whose end is above @addr. */
static uint32_t find_mapping(const struct sim_context *sc, uint64_t addr)
{
	uint32_t lo = 0, hi = sc->n_maps;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (sc->maps[mid].end <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void *sim_translate(void *vm, u64 addr, u64 len, u32 access)
{
	struct sim_context *sc = vm;
	uint32_t i = __atomic_load_n(&sc->hit, __ATOMIC_RELAXED);
	const struct sim_mapping *m;

	if (i >= sc->n_maps || addr < sc->maps[i].va || addr >= sc->maps[i].end) {
		i = find_mapping(sc, addr);
		if (i == sc->n_maps || addr < sc->maps[i].va)
			return NULL;
		__atomic_store_n(&sc->hit, i, __ATOMIC_RELAXED);
	}
	m = &sc->maps[i];
	if (len > m->end - addr || !m->ptr || (m->read_only && access & FM_ACCESS_WRITE))
		return NULL;
	return m->ptr + (addr - m->va);
}

static void sim_parallel(void *host, void (*fn)(void *arg, u32 part), void *arg, u32 parts)
{
	struct sim_device *sd = host;

	vrdu_pool_run(sd->pool, fn, arg, parts);
}

static u64 sim_now(void)
{
	return vrdu_now();
}

static struct fm_program *sim_program(void *owner, u32 id)
{
	struct sim_context *sc = owner;

	return id && id <= sc->n_programs ? sc->programs[id - 1] : NULL;
}

static void sim_event(void *owner, u64 seqno, int error)
{
	struct sim_context *sc = owner;

	/* Nobody sleeps on an event here: submission is synchronous. Count it. */
	(void)seqno;
	(void)error;
	sc->dev->count.events++;
}

/* ---- device ---- */

static u32 cpu_features(u32 mask)
{
	u32 cpu = 0;

#if defined(__x86_64__) || defined(__i386__)
	__builtin_cpu_init();
	if (__builtin_cpu_supports("sse2"))
		cpu |= FM_CPU_SSE2;
	if (__builtin_cpu_supports("avx2"))
		cpu |= FM_CPU_AVX2;
#endif
	return cpu & ~mask;
}

static void sim_info(struct vrdu_device *dev, const struct sim_device *sd)
{
	const struct fm_profile *p = sd->profile;
	struct vrdu_device_info *info = &dev->info;

	snprintf(info->path, sizeof(info->path), "sim:%s", p->name);
	snprintf(info->profile, sizeof(info->profile), "%s", p->name);
	snprintf(info->math, sizeof(info->math), "%s", fm_device_math(sd->fm));
	info->pcus = p->pcus;
	info->pmus = p->pmus;
	info->agcus = p->agcus;
	info->pmu_bytes = p->pmu_bytes;
	info->clock_khz = p->clock_khz;
	info->max_calls = DRM_VRDU_MAX_CALLS;
	info->page_bytes = SIM_PAGE;
	info->hbm_bytes = p->hbm_bytes;
	info->hbm_bytes_per_s = p->hbm_bytes_per_s;
	info->ddr_bytes = p->ddr_bytes;
	dev->va_start = SIM_VA_START;
	dev->va_end = SIM_VA_END;
	dev->max_image_bytes = VRDU_IMAGE_MAX_BYTES;
}

static void sim_close(struct vrdu_device *dev)
{
	struct sim_device *sd = dev->priv;

	fm_device_destroy(sd->fm);
	vrdu_pool_destroy(sd->pool);
	pthread_mutex_destroy(&sd->lock);
	free(sd);
}

static int sim_open(struct vrdu_device *dev, const char *where,
		    const struct vrdu_device_opts *opts)
{
	struct sim_device *sd;
	int ret;

	if (opts->threads > SIM_MAX_THREADS)
		return vrdu_fail(-EINVAL, "sim: %u threads, limit %u", opts->threads,
				 SIM_MAX_THREADS);
	if (opts->cpu_mask & ~(FM_CPU_SSE2 | FM_CPU_AVX2))
		return vrdu_fail(-EINVAL, "sim: unknown bits in cpu_mask 0x%x", opts->cpu_mask);
	sd = calloc(1, sizeof(*sd));
	if (!sd)
		return vrdu_nomem();
	dev->priv = sd;
	pthread_mutex_init(&sd->lock, NULL);
	sd->profile = where ? fm_profile_find(where) : fm_profile_at(0);
	if (!sd->profile) {
		ret = vrdu_fail(-EINVAL, "sim: unknown profile \"%s\"", where);
		goto fail;
	}
	sd->host_ops.translate = sim_translate;
	sd->host_ops.now = sim_now;
	if (opts->threads > 1) {
		ret = vrdu_pool_create(opts->threads, &sd->pool);
		if (ret)
			goto fail;
		sd->host_ops.parallel = sim_parallel;
		sd->host_ops.parts = opts->threads;
	}
	ret = fm_device_create(sd->profile, &sd->host_ops, sd, cpu_features(opts->cpu_mask),
			       &sd->fm);
	if (ret) {
		vrdu_fail(ret, "sim: cannot make a device: %s", strerror(-ret));
		goto fail;
	}
	fm_device_shuffle(sd->fm, opts->shuffle);
	sim_info(dev, sd);
	return 0;
fail:
	sim_close(dev);
	return ret;
}

static int sim_counters(struct vrdu_device *dev, struct vrdu_host_counters *out)
{
	struct sim_device *sd = dev->priv;

	pthread_mutex_lock(&sd->lock);
	*out = sd->count;
	pthread_mutex_unlock(&sd->lock);
	return 0;
}

/* ---- context ---- */

static void context_free(struct sim_context *sc)
{
	free(sc->maps);
	free(sc->programs);
	free(sc->status);
	free(sc->args);
	free(sc->ring);
	free(sc);
}

static int sim_context_create(struct vrdu_context *ctx)
{
	struct sim_device *sd = ctx->dev->priv;
	struct sim_context *sc = calloc(1, sizeof(*sc));

	if (!sc)
		return vrdu_nomem();
	sc->dev = sd;
	sc->ring = calloc(SIM_RING, sizeof(*sc->ring));
	sc->args = calloc((size_t)SIM_RING * VRDU_MAX_ARGS, sizeof(*sc->args));
	sc->status = calloc(1, sizeof(*sc->status));
	if (!sc->ring || !sc->args || !sc->status) {
		context_free(sc);
		return vrdu_nomem();
	}
	sc->queue = (struct fm_queue){
		.ring = sc->ring,
		.entries = SIM_RING,
		.doorbell = (const u64 *)&sc->doorbell,
		.args = (const u8 *)sc->args,
		.args_bytes = (u64)SIM_RING * VRDU_MAX_ARGS * sizeof(*sc->args),
		.status = sc->status,
		.vm = sc,
		.owner = sc,
		.program = sim_program,
		.event = sim_event,
	};
	pthread_mutex_lock(&sd->lock);
	ctx->id = ++sd->contexts;
	pthread_mutex_unlock(&sd->lock);
	ctx->priv = sc;
	ctx->status = sc->status;
	return 0;
}

static void sim_context_destroy(struct vrdu_context *ctx)
{
	context_free(ctx->priv);
}

/* ---- buffers ---- */

static int sim_bo_create(struct vrdu_bo *bo)
{
	struct sim_device *sd = bo->ctx->dev->priv;
	bool ddr = bo->flags & VRDU_BO_DDR;
	uint64_t *used = ddr ? &sd->ddr_used : &sd->hbm_used;
	uint64_t total = ddr ? sd->profile->ddr_bytes : sd->profile->hbm_bytes;
	int ret = 0;

	pthread_mutex_lock(&sd->lock);
	if (bo->size > total - *used)
		ret = vrdu_fail(-ENOSPC, "buffer: %" PRIu64 " bytes, %s has %" PRIu64 " left",
				bo->size, ddr ? "DDR" : "HBM", total - *used);
	else
		*used += bo->size;
	pthread_mutex_unlock(&sd->lock);
	if (ret || bo->flags & VRDU_BO_PHANTOM)
		return ret;
	bo->priv = mmap(NULL, bo->size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (bo->priv != MAP_FAILED)
		return 0;
	pthread_mutex_lock(&sd->lock);
	*used -= bo->size;
	pthread_mutex_unlock(&sd->lock);
	return vrdu_fail(-ENOMEM, "buffer: no memory for %" PRIu64 " bytes", bo->size);
}

static void sim_bo_destroy(struct vrdu_bo *bo)
{
	struct sim_device *sd = bo->ctx->dev->priv;

	if (bo->priv)
		munmap(bo->priv, bo->size);
	pthread_mutex_lock(&sd->lock);
	*(bo->flags & VRDU_BO_DDR ? &sd->ddr_used : &sd->hbm_used) -= bo->size;
	pthread_mutex_unlock(&sd->lock);
}

static int sim_bo_map(struct vrdu_bo *bo)
{
	bo->map = bo->priv;
	return 0;
}

static void sim_bo_unmap(struct vrdu_bo *bo)
{
	bo->map = NULL;
}

static int sim_bind(struct vrdu_bo *bo)
{
	struct sim_context *sc = bo->ctx->priv;
	struct sim_mapping *p;
	uint32_t i;
	int ret = 0;

	pthread_mutex_lock(&sc->dev->lock);
	if (sc->n_maps == sc->cap_maps) {
		uint32_t cap = sc->cap_maps ? 2 * sc->cap_maps : 16;

		p = realloc(sc->maps, cap * sizeof(*p));
		if (!p) {
			ret = vrdu_nomem();
			goto out;
		}
		sc->maps = p;
		sc->cap_maps = cap;
	}
	i = find_mapping(sc, bo->va);
	p = &sc->maps[i];
	memmove(p + 1, p, (sc->n_maps - i) * sizeof(*p));
	sc->n_maps++;
	*p = (struct sim_mapping){
		.va = bo->va,
		.end = bo->va + bo->size,
		.ptr = bo->priv,
		.read_only = bo->flags & VRDU_BO_READ_ONLY,
	};
out:
	pthread_mutex_unlock(&sc->dev->lock);
	return ret;
}

static void sim_unbind(struct vrdu_bo *bo)
{
	struct sim_context *sc = bo->ctx->priv;
	uint32_t i;

	pthread_mutex_lock(&sc->dev->lock);
	i = find_mapping(sc, bo->va);
	sc->n_maps--;
	memmove(&sc->maps[i], &sc->maps[i + 1], (sc->n_maps - i) * sizeof(*sc->maps));
	pthread_mutex_unlock(&sc->dev->lock);
}

/* ---- programs ---- */

/* Index of a free handle; the table grows. Device locked. */
static int program_slot(struct sim_context *sc)
{
	struct fm_program **p;
	uint32_t i, n;

	for (i = 0; i < sc->n_programs; i++)
		if (!sc->programs[i])
			return i;
	n = sc->n_programs ? 2 * sc->n_programs : 8;
	p = realloc(sc->programs, n * sizeof(*p));
	if (!p)
		return vrdu_nomem();
	memset(p + sc->n_programs, 0, (n - sc->n_programs) * sizeof(*p));
	i = sc->n_programs;
	sc->programs = p;
	sc->n_programs = n;
	return i;
}

static int sim_program_create(struct vrdu_program *prog, char *log, size_t log_size)
{
	struct sim_context *sc = prog->ctx->priv;
	struct fm_log text = { .buf = log, .size = log_size };
	struct fm_program *fp;
	int ret;

	ret = fm_program_create(prog->image->data, prog->image->size, sc->dev->profile, &text, &fp);
	if (ret)
		return vrdu_fail(ret, "program: %s", strerror(-ret));
	pthread_mutex_lock(&sc->dev->lock);
	ret = program_slot(sc);
	if (ret >= 0) {
		sc->programs[ret] = fp;
		prog->id = ret + 1;
	}
	pthread_mutex_unlock(&sc->dev->lock);
	if (ret < 0)
		fm_program_destroy(fp);
	return ret < 0 ? ret : 0;
}

static void sim_program_destroy(struct vrdu_program *prog)
{
	struct sim_context *sc = prog->ctx->priv;
	struct fm_program *fp;

	pthread_mutex_lock(&sc->dev->lock);
	fp = sc->programs[prog->id - 1];
	sc->programs[prog->id - 1] = NULL;
	pthread_mutex_unlock(&sc->dev->lock);
	fm_program_destroy(fp);
}

/* ---- submission ---- */

static void poll_queue(struct sim_context *sc)
{
	while (fm_queue_poll(sc->dev->fm, &sc->queue, SIM_BUDGET) == SIM_BUDGET)
		;
}

static void ring(struct sim_context *sc, uint64_t tail)
{
	__atomic_store_n(&sc->doorbell, tail, __ATOMIC_RELEASE);
	sc->dev->count.doorbells++;
}

/* Device locked. */
static void put_calls(struct sim_context *sc, const struct drm_vrdu_call *calls, uint32_t n)
{
	uint64_t tail = sc->doorbell;
	uint32_t i;

	for (i = 0; i < n; i++, tail++) {
		uint32_t slot = tail % SIM_RING;

		if (tail - sc->queue.head == SIM_RING) {
			ring(sc, tail);
			poll_queue(sc);
			if (sc->status->error)
				return;
		}
		memcpy(&sc->args[(size_t)slot * VRDU_MAX_ARGS],
		       (const void *)(uintptr_t)calls[i].args, calls[i].arg_count * 8);
		sc->ring[slot] = (struct vrdu_packet){
			.op = VRDU_PACKET_CALL,
			.flags = i + 1 == n ? VRDU_PACKET_EVENT : 0,
			.arg_count = calls[i].arg_count,
			.program = calls[i].program,
			.seqno = sc->seqno + i + 1,
			.args = (uint64_t)slot * VRDU_MAX_ARGS * 8,
			.call_flags = calls[i].flags,
		};
	}
	ring(sc, tail);
	poll_queue(sc);
}

static int sim_submit(struct vrdu_context *ctx, const struct drm_vrdu_call *calls, uint32_t n,
		      const struct vrdu_point *waits, uint32_t n_waits,
		      const struct vrdu_point *signals, uint32_t n_signals, uint64_t *seqno)
{
	struct sim_context *sc = ctx->priv;
	uint32_t i;
	int ret = 0;

	/* As with syncobjs, a point must have been submitted before it can be waited for. */
	for (i = 0; i < n_waits; i++)
		if (sim_timeline_value(waits[i].timeline->priv) < waits[i].value)
			return vrdu_fail(-EINVAL, "submit: wait %u: nothing signals point %" PRIu64,
					 i, waits[i].value);
	pthread_mutex_lock(&sc->dev->lock);
	if (sc->status->error) {
		ret = vrdu_fail(-ECANCELED, "submit: context %u has failed", ctx->id);
		goto out;
	}
	put_calls(sc, calls, n);
	sc->seqno += n;
	sc->dev->count.submits++;
	sc->dev->count.calls += n;
	*seqno = sc->seqno;
out:
	pthread_mutex_unlock(&sc->dev->lock);
	for (i = 0; !ret && i < n_signals; i++)
		sim_timeline_raise(signals[i].timeline->priv, signals[i].value);
	return ret;
}

static int sim_wait(struct vrdu_context *ctx, uint64_t seqno, int64_t deadline)
{
	/* What was submitted is complete, or the page has an error: nothing to block on. */
	(void)ctx;
	(void)seqno;
	(void)deadline;
	return 0;
}

/* ---- the firmware model's knowledge that needs no device ---- */

int vrdu_fabric_find(const char *name, struct vrdu_fabric *out)
{
	const struct fm_profile *p = name ? fm_profile_find(name) : fm_profile_at(0);

	if (!p)
		return vrdu_fail(-EINVAL, "unknown profile \"%s\"", name);
	*out = (struct vrdu_fabric){
		.name = p->name,
		.pcus = p->pcus,
		.pmus = p->pmus,
		.agcus = p->agcus,
		.pmu_bytes = p->pmu_bytes,
		.macs_per_cycle = p->macs_per_cycle,
	};
	return 0;
}

int vrdu_verify(const void *data, size_t size, const char *profile, char *log, size_t log_size)
{
	const struct fm_profile *p = profile ? fm_profile_find(profile) : fm_profile_at(0);
	struct fm_log text = { .buf = log, .size = log_size };
	struct fm_program *prog;
	int ret;

	*log = '\0';
	if (!p)
		return vrdu_fail(-EINVAL, "unknown profile \"%s\"", profile);
	/* Creation verifies and then checks host limits too: what a device would say. */
	ret = fm_program_create(data, size, p, &text, &prog);
	if (ret)
		return vrdu_fail(ret, "program is refused: %s", *log ? log : strerror(-ret));
	fm_program_destroy(prog);
	return 0;
}

const struct vrdu_ops vrdu_sim_ops = {
	.name = "sim",
	.open = sim_open,
	.close = sim_close,
	.counters = sim_counters,
	.context_create = sim_context_create,
	.context_destroy = sim_context_destroy,
	.bo_create = sim_bo_create,
	.bo_destroy = sim_bo_destroy,
	.bo_map = sim_bo_map,
	.bo_unmap = sim_bo_unmap,
	.bind = sim_bind,
	.unbind = sim_unbind,
	.program_create = sim_program_create,
	.program_destroy = sim_program_destroy,
	.submit = sim_submit,
	.wait = sim_wait,
	.timeline_create = sim_timeline_create,
	.timeline_destroy = sim_timeline_destroy,
	.timeline_query = sim_timeline_query,
	.timeline_signal = sim_timeline_signal,
	.timeline_wait = sim_timeline_wait,
};
