// SPDX-License-Identifier: MIT
/*
 * Programs: images that passed the verifier and are resident in a context. A
 * refusal's text becomes the sentence of vrdu_last_error().
 */
#include "ops.h"

int vrdu_program_create(struct vrdu_context *ctx, struct vrdu_image *image,
			struct vrdu_program **out)
{
	char log[1536] = "";
	struct vrdu_program *prog;
	int ret;

	if (!ctx || !image || !out)
		return vrdu_fail(-EINVAL, "program: no %s",
				 !ctx ? "context" : !image ? "image" : "place for the result");
	if (image->size > ctx->dev->max_image_bytes)
		return vrdu_fail(-EINVAL, "program: image of %zu bytes, the device takes %u",
				 image->size, ctx->dev->max_image_bytes);
	prog = calloc(1, sizeof(*prog));
	if (!prog)
		return vrdu_nomem();
	vrdu_refs_init(&prog->refs);
	prog->ctx = ctx;
	prog->image = image;
	prog->symbols = vrdu_image_symbols(image);
	ret = ctx->dev->ops->program_create(prog, log, sizeof(log));
	if (ret) {
		if (ret == -EINVAL && *log)
			vrdu_fail(ret, "program \"%s\" is refused: %s",
				  vrdu_image_string(image, vrdu_image_header(image)->name), log);
		free(prog);
		return ret;
	}
	vrdu_image_ref(image);
	vrdu_context_ref(ctx);
	pthread_mutex_lock(&ctx->lock);
	prog->next = ctx->programs;
	if (prog->next)
		prog->next->prev = prog;
	ctx->programs = prog;
	pthread_mutex_unlock(&ctx->lock);
	*out = prog;
	return 0;
}

struct vrdu_program *vrdu_program_ref(struct vrdu_program *prog)
{
	if (prog)
		vrdu_refs_get(&prog->refs);
	return prog;
}

void vrdu_program_unref(struct vrdu_program *prog)
{
	struct vrdu_context *ctx;

	if (!prog || !vrdu_refs_put(&prog->refs))
		return;
	ctx = prog->ctx;
	pthread_mutex_lock(&ctx->lock);
	if (prog->prev)
		prog->prev->next = prog->next;
	else
		ctx->programs = prog->next;
	if (prog->next)
		prog->next->prev = prog->prev;
	pthread_mutex_unlock(&ctx->lock);
	ctx->dev->ops->program_destroy(prog);
	vrdu_image_unref(prog->image);
	free(prog);
	vrdu_context_unref(ctx);
}

struct vrdu_image *vrdu_program_image(struct vrdu_program *prog)
{
	return prog ? prog->image : NULL;
}
