/* SPDX-License-Identifier: MIT */
/*
 * Layout of the small state that decoding keeps in device memory. The host
 * writes it before a sequence begins; from then on the programs advance it, so
 * that no call depends on a value of the host.
 */
#ifndef LLAMA_PARAMS_H
#define LLAMA_PARAMS_H

#include <stdint.h>

/* Byte offsets in the parameter buffer; each word is a symbol of its own on its own cache line. */
#define LLAMA_PARAM_POS		0	/* s32: next position to compute; the head advances it */
#define LLAMA_PARAM_PROMPT	64	/* s32: given tokens; read only */
#define LLAMA_PARAM_BYTES	128

/**
 * llama_token_stride() - tokens of a row of the token buffer.
 * @context: Positions.
 *
 * The buffer is s32 [batch rows][stride]: the given tokens, then what the head
 * appends. One more than the context, since the last position also has a
 * successor.
 */
static inline uint32_t llama_token_stride(uint32_t context)
{
	return context + 1;
}

#endif /* LLAMA_PARAMS_H */
