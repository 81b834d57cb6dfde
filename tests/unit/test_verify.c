// SPDX-License-Identifier: MIT
/*
 * Verifier: the container, and what sections share: symbols, extents, the
 * sequence, ownership. One image for each rule that violates exactly it; and
 * for small images every single bit that can flip.
 */
#include "test_verify.h"

/* ---- log ------------------------------------------------------------- */

static void log_is_bounded(void **state)
{
	char buf[16];
	struct fm_log log = { .buf = buf, .size = sizeof(buf) };

	(void)state;
	memset(buf, 'x', sizeof(buf));
	fm_log(&log, "%s", "0123456789");
	assert_string_equal(buf, "0123456789");
	fm_log(&log, "%s", "abcdefghij");
	assert_string_equal(buf, "0123456789abcde");
	fm_log(&log, "%d", 42);
	assert_string_equal(buf, "0123456789abcde");
	assert_int_equal(log.len, 22);
	log = (struct fm_log){ 0 };
	fm_log(&log, "%s", "abc");
	assert_int_equal(log.len, 3);
	fm_log(NULL, "%s", "abc");
}

/* ---- container ------------------------------------------------------- */

static void crc_is_ieee(void **state)
{
	(void)state;
	assert_int_equal(fm_crc32(0, "123456789", 9), 0xcbf43926);
	assert_int_equal(fm_crc32(fm_crc32(0, "1234", 4), "56789", 5), 0xcbf43926);
	assert_int_equal(fm_crc32(0, "", 0), 0);
}

enum sealing { SEAL, BREAK };

static void check_header(int line, enum sealing sealing, uint32_t at, uint32_t bytes,
			 uint32_t value, const char *expect)
{
	struct mk *m = mk_add();
	uint32_t size;
	uint8_t *image = mk_image(m, &size);
	char text[512];
	int ret;

	memcpy(image + at, &value, bytes);
	if (sealing == SEAL)
		mk_seal(image, size);
	ret = verify(image, size, m->profile, text, sizeof(text));
	free(image);
	mk_free(m);
	check_text(__FILE__, line, ret, text, (const char *[]){ expect, NULL });
}

#define HEADER(sealing, field, value, expect)						\
	check_header(__LINE__, sealing, offsetof(struct vrdu_image_header, field),	\
		     sizeof(((struct vrdu_image_header *)0)->field), value, expect)

static void header_fields(void **state)
{
	(void)state;
	HEADER(SEAL, magic, 0x12345678, "magic is 0x12345678");
	HEADER(SEAL, major, 2, "version is 2.0");
	HEADER(SEAL, major, 0, "version is 0.0");
	HEADER(SEAL, minor, 1, "version is 1.1");
	HEADER(SEAL, size, 960 + 8, "header says 968 bytes, there are 960");
	HEADER(SEAL, size, 8, "header says 8 bytes, there are 960");
	HEADER(BREAK, crc32, 1, "header says crc32 0x00000001");
	HEADER(SEAL, flags, 4, "header flags 0x4");
	HEADER(SEAL, pad[0], 1, "pad 0x1 0x0");
	HEADER(SEAL, pad[1], 2, "pad 0x0 0x2");
	HEADER(SEAL, name, 100000, "image 0: name at 100000");
}

static void header_tables(void **state)
{
	(void)state;
	HEADER(SEAL, symbols, 65, "65 symbols, must be 0 to 64");
	HEADER(SEAL, extents, 257, "257 extents");
	HEADER(SEAL, sections, 0, "0 sections, must be 1 to 16");
	HEADER(SEAL, sections, 17, "17 sections");
	HEADER(SEAL, seqs, 0, "0 sequence entries");
	HEADER(SEAL, seqs, 65, "65 sequence entries");
	HEADER(SEAL, nodes, 0, "0 nodes");
	HEADER(SEAL, nodes, 512 * 16 + 1, "8193 nodes");
	HEADER(SEAL, streams, 1024 * 16 + 1, "16385 streams");
	HEADER(SEAL, agus, 2049, "2049 agus");
	HEADER(SEAL, strings, 0, "0 string bytes");
	HEADER(SEAL, strings, 5000, "string bytes end at");
	HEADER(SEAL, symbols_off, 100, "symbols at 100, must be 8-byte aligned");
	HEADER(SEAL, symbols_off, 88, "symbols at 88, but the table before ends at 96");
	HEADER(SEAL, extents_off, 96, "extents at 96, but");
	HEADER(SEAL, sections_off, 96, "sections at 96, but");
	HEADER(SEAL, seq_off, 96, "sequence entries at 96, but");
	HEADER(SEAL, nodes_off, 96, "nodes at 96, but");
	HEADER(SEAL, streams_off, 96, "streams at 96, but");
	HEADER(SEAL, agus_off, 96, "agus at 96, but");
	HEADER(SEAL, strings_off, 97, "string bytes at 97, but");
	HEADER(SEAL, nodes_off, 0xfffffff8, "nodes end at");
	HEADER(SEAL, strings_off, 0xffffffff, "string bytes end at");
}

static void sizes_and_alignment(void **state)
{
	struct mk *m = mk_add();
	uint32_t size, i;
	uint8_t *image = mk_image(m, &size), *moved = malloc(size + 8);
	char text[512];

	(void)state;
	assert_non_null(moved);
	for (i = 0; i < size; i++) {
		assert_int_equal(verify(image, i, m->profile, text, sizeof(text)), -EINVAL);
		assert_non_null(strstr(text, i < 96 ? "bytes, must be 96 to" :
					     "header says 960 bytes, there are"));
	}
	assert_int_equal(verify(image, 0x100001, m->profile, text, sizeof(text)), -EINVAL);
	assert_non_null(strstr(text, "must be 96 to 1048576"));
	for (i = 1; i < 8; i++) {
		memcpy(moved + i, image, size);
		assert_int_equal(verify(moved + i, size, m->profile, text, sizeof(text)), -EINVAL);
		assert_non_null(strstr(text, "not 8-byte aligned"));
	}
	free(moved);
	free(image);
	mk_free(m);
}

static void strings_and_padding(void **state)
{
	(void)state;
	REFUSE(mk_add(), m->strings[m->n_strings - 1] = 'x', "does not end with NUL");
	REFUSE(mk_add(), m->strings[1] = '\033', "control character 0x1b at 1");
	REFUSE(mk_add(), m->strings[1] = 0x7f, "control character 0x7f");
	ACCEPT(mk_add(), m->strings[1] = (char)0xc3);
	REFUSE(mk_add(), m->symbols[1].name = 77777, "symbol 1: name at 77777");
	REFUSE(mk_add(), m->sections[0].name = 77777, "section 0: name at 77777");
	REFUSE(mk_add(), m->nodes[2].name = 77777, "node 2: name at 77777");
	REFUSE(mk_add(), m->streams[2].name = m->n_strings, "stream 2: name at");
	REFUSE(mk_add(), m->symbols[1].pad = 1, "symbol 1: pad");
	REFUSE(mk_add(), m->symbols[1].pad2 = 1, "symbol 1: pad");
	REFUSE(mk_add(), m->sections[0].pad = 1, "section 0: pad");
	REFUSE(mk_add(), m->streams[1].pad[0] = 1, "stream 1: pad");
	REFUSE(mk_add(), m->streams[1].pad[1] = 1, "stream 1: pad");
	REFUSE(mk_add(), m->agus[2].pad = 1, "agu 2: pad");
}

/* ---- symbols, extents ------------------------------------------------ */

static void symbols(void **state)
{
	(void)state;
	REFUSE(mk_add(), SYMBOL("y")->kind = 2, "symbol 1 \"y\": unknown kind 2");
	REFUSE(mk_add(), SYMBOL("y")->access = 0, "symbol 1 \"y\": access is 0x0");
	REFUSE(mk_add(), SYMBOL("y")->access = 5, "symbol 1 \"y\": access is 0x5");
	REFUSE(mk_add(), SYMBOL("y")->bytes = 0, "symbol 1 \"y\": 0 bytes");
	REFUSE(mk_add(), SYMBOL("y")->bytes = (1ull << 60) + 1, "1152921504606846977 bytes");
	REFUSE(mk_add(), SYMBOL("y")->entries = 1, "symbol 1 \"y\": 1 entries, must be 0");
	REFUSE(mk_add(), SYMBOL("y")->level = 1, "symbol 1 \"y\": level is 1, must be 0");
	REFUSE(mk_add(), mk_table(m, "t", MK_R, 64, 0, 0), "\"t\": 0 entries, must be 1");
	REFUSE(mk_add(), mk_table(m, "t", MK_R, 64, 0, 0x100001), "\"t\": 1048577 entries");
	REFUSE(mk_add(), mk_table(m, "t", MK_R, 64, 3, 4), "\"t\": level is 3, must be 0 to 2");
}

static void extents_static(void **state)
{
	(void)state;
	REFUSE(mk_add(), m->extents[0].kind = 2, "extent 0: unknown kind 2");
	REFUSE(mk_add(), m->extents[0].value = 0, "extent 0: value is 0");
	REFUSE(mk_add(), mk_extent(m, (1u << 30) + 1), "extent 1: value is 1073741825");
	ACCEPT(mk_add(), mk_extent(m, 1u << 30));
	REFUSE(mk_add(), m->extents[0].min = 31,
	       "extent 0: static 32, but min is 31 and max is 32");
	REFUSE(mk_add(), m->extents[0].max = 33,
	       "extent 0: static 32, but min is 32 and max is 33");
	REFUSE(mk_add(), m->extents[0].symbol = 1, "extent 0: static, but symbol");
	REFUSE(mk_add(), m->extents[0].bias = -1, "extent 0: static, but symbol");
	REFUSE(mk_add(), m->extents[0].offset = 4, "extent 0: static, but symbol");
}

static void extents_param(void **state)
{
	(void)state;
	/* Symbol 0 of mk_add() is read-only with 2048 bytes, symbol 2 write-only. */
	ACCEPT(mk_add(), mk_param(m, 0, 2044, -5, 1, 1u << 30));
	REFUSE(mk_add(), m->extents[mk_param(m, 0, 0, 0, 1, 5)].value = 1, "but value is 1");
	REFUSE(mk_add(), mk_param(m, 0, 0, 0, 0, 5), "extent 1: from 0 to 5");
	REFUSE(mk_add(), mk_param(m, 0, 0, 0, 6, 5), "extent 1: from 6 to 5");
	REFUSE(mk_add(), mk_param(m, 0, 0, 0, 1, (1u << 30) + 1), "extent 1: from 1 to 1073741825");
	REFUSE(mk_add(), mk_param(m, 3, 0, 0, 1, 5), "extent 1: symbol 3, there are 3");
	REFUSE(mk_add(), mk_param(m, 2, 0, 0, 1, 5), "extent 1: symbol \"z\" must be");
	REFUSE(mk_add(), mk_param(m, mk_table(m, "t", MK_R, 64, 0, 4), 0, 0, 1, 5),
	       "extent 1: symbol \"t\" must be");
	REFUSE(mk_add(), mk_param(m, 0, 2, 0, 1, 5), "extent 1: offset 2");
	REFUSE(mk_add(), mk_param(m, 0, 2048, 0, 1, 5), "extent 1: offset 2048");
	REFUSE(mk_add(), mk_param(m, 0, ~3ull, 0, 1, 5), "extent 1: offset 18446744073709551612");
	REFUSE(mk_add(), mk_param(m, mk_symbol(m, "b", MK_R, 3), 0, 0, 1, 5), "the 3 bytes of");
}

/* ---- sequence, ownership --------------------------------------------- */

static struct mk *no_sequence(void)
{
	struct mk *m = mk_add();

	m->n_seq = 0;
	return m;
}

static void nest(struct mk *m, int depth)
{
	int i;

	for (i = 0; i < depth; i++)
		mk_loop(m, mk_extent(m, 2));
	mk_run(m, 0);
	for (i = 0; i < depth; i++)
		mk_end(m);
}

static void sequence(void **state)
{
	(void)state;
	ACCEPT(no_sequence(), nest(m, 3));
	REFUSE(no_sequence(), nest(m, 4), "sequence 3: loops nest deeper than 3");
	REFUSE(mk_add(), mk_op(m, 3, 0), "sequence 1: unknown operation 3");
	REFUSE(mk_add(), mk_end(m), "sequence 1: end without a loop");
	REFUSE(mk_add(), mk_loop(m, 0), "sequence 1: loop without an end");
	REFUSE(mk_add(), (mk_loop(m, 0), mk_end(m)), "sequence 2: empty loop");
	REFUSE(mk_add(), (mk_loop(m, 0), mk_loop(m, 0), mk_end(m), mk_end(m)),
	       "sequence 3: empty loop");
	REFUSE(no_sequence(), (mk_loop(m, 0), mk_run(m, 0), mk_op(m, VRDU_SEQ_END, 1)),
	       "sequence 2: argument of an end must be 0");
	REFUSE(no_sequence(), (mk_loop(m, 9), mk_run(m, 0), mk_end(m)),
	       "sequence 0: trip count is extent 9, there are 1");
	REFUSE(no_sequence(), (mk_loop(m, mk_extent(m, 0x100001)), mk_run(m, 0), mk_end(m)),
	       "sequence 0: loop of up to 1048577 trips");
	REFUSE(no_sequence(),
	       (mk_loop(m, mk_param(m, 0, 0, 0, 1, 0x100001)), mk_run(m, 0), mk_end(m)),
	       "sequence 0: loop of up to 1048577 trips");
	REFUSE(no_sequence(), (mk_run(m, 1)), "sequence 0: runs section 1, there are 1");
	REFUSE(mk_add(), mk_run(m, 0), "sequence 1: section 0 \"main\" is run a second time");
	REFUSE(no_sequence(), (mk_section(m, "b"), mk_run(m, 1)), "section 0 \"main\": no run");
}

/* mk_add() twice, the second in a section of its own. */
static struct mk *two_sections(void)
{
	struct mk *m = mk_add();
	int w = mk_symbol(m, "w", MK_W, 2048), s;

	mk_section(m, "more");
	s = mk_stream(m, "s", VRDU_ELEM_F32, 2, 1, 0, 8, 16);
	mk_load(m, "ld", mk_agu(m, 0, 0, 64), s);
	mk_store(m, "st", mk_agu(m, w, 0, 64), s);
	mk_run(m, 1);
	return m;
}

static void sections(void **state)
{
	(void)state;
	ACCEPT(two_sections(), AS_IS);
	ACCEPT(two_sections(), (m->seq[0].arg = 1, m->seq[1].arg = 0));
	REFUSE(two_sections(), m->sections[1].first_node--,
	       "section 1 \"more\": starts at node 3 and stream 3, must at 4 and 3");
	REFUSE(two_sections(), m->sections[1].first_stream++,
	       "section 1 \"more\": starts at node 4 and stream 4, must at 4 and 3");
	REFUSE(two_sections(), (m->sections[0].first_node = 1), "section 0 \"main\": starts at");
	REFUSE(two_sections(), m->sections[1].nodes++, "sections own 7 nodes and 4 streams");
	REFUSE(two_sections(), m->sections[1].nodes--, "sections own 5 nodes and 4 streams");
	REFUSE(two_sections(), m->sections[1].streams++, "sections own 6 nodes and 5 streams");
	REFUSE(two_sections(), (m->sections[1].streams--, m->n_streams--),
	       "more: node 0 \"ld\" (load): out0 is stream 3, the section has 3 to 3");
	REFUSE(two_sections(), m->sections[1].nodes = 0, "section 1 \"more\": 0 nodes");
	REFUSE(two_sections(), m->sections[1].nodes = 513, "513 nodes");
	REFUSE(two_sections(), m->sections[1].streams = 1025, "1025 streams");
	REFUSE(two_sections(), NODE("ld")->out[0] = 0,
	       "more: node 0 \"ld\" (load): out0 is stream 0, the section has 3 to 4");
	REFUSE(mk_add(), m->agus[1].flags = 1, "agu 1: flags are 0x1");
	REFUSE(mk_add(), m->agus[1].symbol = 3, "agu 1: symbol 3, there are 3");
	REFUSE(mk_add(), mk_agu(m, 0, 0, 0), "agu 3: no node uses it");
}

static struct mk *looped_add(uint32_t a, uint32_t b, uint32_t c)
{
	struct mk *m = no_sequence();

	mk_loop(m, mk_extent(m, a));
	mk_loop(m, mk_extent(m, b));
	mk_loop(m, mk_extent(m, c));
	mk_run(m, 0);
	mk_end(m);
	mk_end(m);
	mk_end(m);
	return m;
}

static void total_steps(void **state)
{
	(void)state;
	/* 16 firings an iteration. */
	ACCEPT(looped_add(1 << 20, 1 << 16, 1), AS_IS);
	REFUSE(looped_add(1 << 20, 1 << 16, 2), AS_IS,
	       "main: up to here a call takes 2199023255552 firings");
	REFUSE(looped_add(1 << 20, 1 << 20, 1 << 20), AS_IS,
	       "main: up to here a call takes 18446744073709551615 firings or more");
}

/* ---- summary, robustness --------------------------------------------- */

static void summary(void **state)
{
	struct mk *m = mk_attention(64, 5);
	uint32_t size;
	void *image = mk_image(m, &size);
	char text[512];
	struct fm_log log = { 0 };

	(void)state;
	assert_int_equal(verify(image, size, m->profile, text, sizeof(text)), 0);
	assert_string_equal(text,
			    "program \"attention\": 1 sections, 12 nodes, 11 streams, 7 symbols; "
			    "up to 3 of 64 PCUs, 10 of 64 PMUs, 9 of 48 AGCUs; up to 150 firings a "
			    "call; image of 2704 bytes\n");
	assert_int_equal(fm_verify(image, size, m->profile, &log), 0);
	assert_int_equal(log.len, strlen(text));
	assert_int_equal(fm_verify(image, size, m->profile, NULL), 0);
	free(image);
	mk_free(m);
}

/* Flip each bit: refused by the checksum; with that repaired, anything but a crash. */
static void flip(struct mk *m, uint32_t *accepted)
{
	uint32_t size, bit;
	uint8_t *image = mk_image(m, &size);
	char text[512];

	for (bit = 0; bit < size * 8; bit++) {
		int ret;

		image[bit / 8] ^= 1u << bit % 8;
		ret = verify(image, size, m->profile, text, sizeof(text));
		assert_int_equal(ret, -EINVAL);
		mk_seal(image, size);
		ret = verify(image, size, m->profile, text, sizeof(text));
		assert_true(ret == 0 || ret == -EINVAL);
		assert_true(text[0]);
		*accepted += !ret;
		image[bit / 8] ^= 1u << bit % 8;
		mk_seal(image, size);
	}
	assert_int_equal(verify(image, size, m->profile, text, sizeof(text)), 0);
	free(image);
	mk_free(m);
}

static void bit_flips(void **state)
{
	uint32_t accepted = 0;

	(void)state;
	flip(mk_add(), &accepted);
	flip(mk_accumulate(1), &accepted);
	flip(mk_attention(40, 3), &accepted);
	flip(mk_kinds(), &accepted);
	/* Names, larger depths, free sites: some flips are harmless. */
	assert_true(accepted > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(log_is_bounded),
		cmocka_unit_test(crc_is_ieee),
		cmocka_unit_test(header_fields),
		cmocka_unit_test(header_tables),
		cmocka_unit_test(sizes_and_alignment),
		cmocka_unit_test(strings_and_padding),
		cmocka_unit_test(symbols),
		cmocka_unit_test(extents_static),
		cmocka_unit_test(extents_param),
		cmocka_unit_test(sequence),
		cmocka_unit_test(sections),
		cmocka_unit_test(total_steps),
		cmocka_unit_test(summary),
		cmocka_unit_test(bit_flips),
	};

	return cmocka_run_group_tests_name("verify", tests, NULL, NULL);
}
