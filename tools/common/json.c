// SPDX-License-Identifier: MIT
/*
 * Streaming JSON writer: see json.h. Owns nothing but the state in the
 * caller's struct json; anybody in tools/ and tests/ may use it.
 */
#include "json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

static void put(struct json *j, const char *s, size_t n)
{
	if (!j->error && fwrite(s, 1, n, j->out) != n)
		j->error = -EIO;
}

static void puts_(struct json *j, const char *s)
{
	put(j, s, strlen(s));
}

static void newline(struct json *j)
{
	unsigned int i;

	puts_(j, "\n");
	for (i = 0; i < j->depth; i++)
		puts_(j, "  ");
}

/* Called before each value: comma, line and the check that a value may stand here. */
static void value(struct json *j)
{
	if (!j->depth) {
		if (j->done)
			j->error = j->error ?: -EINVAL;
		j->done = true;
		return;
	}
	if (j->object[j->depth - 1]) {
		if (!j->after_key)
			j->error = j->error ?: -EINVAL;
		j->after_key = false;
		return;
	}
	if (j->filled[j->depth - 1])
		puts_(j, ",");
	j->filled[j->depth - 1] = true;
	newline(j);
}

static void open_(struct json *j, bool object)
{
	value(j);
	if (j->depth == JSON_MAX_DEPTH) {
		j->error = j->error ?: -EINVAL;
		return;
	}
	puts_(j, object ? "{" : "[");
	j->object[j->depth] = object;
	j->filled[j->depth] = false;
	j->depth++;
}

static void close_(struct json *j, bool object)
{
	bool filled;

	if (!j->depth || j->object[j->depth - 1] != object || j->after_key) {
		j->error = j->error ?: -EINVAL;
		return;
	}
	filled = j->filled[--j->depth];
	if (filled)
		newline(j);
	puts_(j, object ? "}" : "]");
}

void json_begin_document(struct json *j, FILE *out)
{
	memset(j, 0, sizeof(*j));
	j->out = out;
}

int json_end_document(struct json *j)
{
	if (j->depth || !j->done)
		j->error = j->error ?: -EINVAL;
	puts_(j, "\n");
	if (!j->error && fflush(j->out))
		j->error = -EIO;
	return j->error;
}

void json_object(struct json *j)
{
	open_(j, true);
}

void json_object_end(struct json *j)
{
	close_(j, true);
}

void json_array(struct json *j)
{
	open_(j, false);
}

void json_array_end(struct json *j)
{
	close_(j, false);
}

unsigned int json_utf8_valid(const unsigned char *s, size_t n)
{
	static const uint32_t least[5] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned int len, i;
	uint32_t c;

	if (!n)
		return 0;
	if (s[0] < 0x80)
		return 1;
	if (s[0] >= 0xc2 && s[0] < 0xe0)
		len = 2;
	else if (s[0] >= 0xe0 && s[0] < 0xf0)
		len = 3;
	else if (s[0] >= 0xf0 && s[0] < 0xf5)
		len = 4;
	else
		return 0;
	if (n < len)
		return 0;
	c = s[0] & (0xffu >> (len + 1));
	for (i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (c < least[len] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0;
	return len;
}

static void quoted(struct json *j, const char *text, size_t n)
{
	static const char names[] = "\bb\ff\nn\rr\tt\"\"\\\\";
	const unsigned char *s = (const unsigned char *)text;
	unsigned int len, i;
	char esc[8];

	puts_(j, "\"");
	while (n) {
		len = json_utf8_valid(s, n);
		if (!len) {
			puts_(j, "\\ufffd");
			len = 1;
		} else if (len > 1 || (s[0] >= 0x20 && s[0] != '"' && s[0] != '\\' &&
				       s[0] != 0x7f)) {
			put(j, (const char *)s, len);
		} else {
			snprintf(esc, sizeof(esc), "\\u%04x", s[0]);
			for (i = 0; names[i]; i += 2)
				if ((unsigned char)names[i] == s[0])
					snprintf(esc, sizeof(esc), "\\%c", names[i + 1]);
			puts_(j, esc);
		}
		s += len;
		n -= len;
	}
	puts_(j, "\"");
}

void json_key(struct json *j, const char *key)
{
	if (!j->depth || !j->object[j->depth - 1] || j->after_key) {
		j->error = j->error ?: -EINVAL;
		return;
	}
	if (j->filled[j->depth - 1])
		puts_(j, ",");
	j->filled[j->depth - 1] = true;
	newline(j);
	quoted(j, key, strlen(key));
	puts_(j, ": ");
	j->after_key = true;
}

void json_string_len(struct json *j, const char *s, size_t n)
{
	value(j);
	quoted(j, s, n);
}

void json_string(struct json *j, const char *s)
{
	if (s)
		json_string_len(j, s, strlen(s));
	else
		json_null(j);
}

void json_u64(struct json *j, uint64_t v)
{
	char buf[24];

	value(j);
	snprintf(buf, sizeof(buf), "%" PRIu64, v);
	puts_(j, buf);
}

void json_i64(struct json *j, int64_t v)
{
	char buf[24];

	value(j);
	snprintf(buf, sizeof(buf), "%" PRId64, v);
	puts_(j, buf);
}

/* Shortest of 15 … 17 digits that reads back as the same number. */
void json_double(struct json *j, double v)
{
	char buf[40];
	int digits;
	double back;

	if (!isfinite(v)) {
		json_null(j);
		return;
	}
	value(j);
	for (digits = 15; digits <= 17; digits++) {
		snprintf(buf, sizeof(buf), "%.*g", digits, v);
		if (sscanf(buf, "%lf", &back) == 1 && back == v)
			break;
	}
	puts_(j, buf);
	if (!strpbrk(buf, ".e"))
		puts_(j, ".0");
}

void json_bool(struct json *j, bool v)
{
	value(j);
	puts_(j, v ? "true" : "false");
}

void json_null(struct json *j)
{
	value(j);
	puts_(j, "null");
}

void json_kv_string(struct json *j, const char *key, const char *s)
{
	json_key(j, key);
	json_string(j, s);
}

void json_kv_u64(struct json *j, const char *key, uint64_t v)
{
	json_key(j, key);
	json_u64(j, v);
}

void json_kv_i64(struct json *j, const char *key, int64_t v)
{
	json_key(j, key);
	json_i64(j, v);
}

void json_kv_double(struct json *j, const char *key, double v)
{
	json_key(j, key);
	json_double(j, v);
}

void json_kv_bool(struct json *j, const char *key, bool v)
{
	json_key(j, key);
	json_bool(j, v);
}

void json_kv_null(struct json *j, const char *key)
{
	json_key(j, key);
	json_null(j);
}
