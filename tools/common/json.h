/* SPDX-License-Identifier: MIT */
/*
 * Streaming JSON writer: objects, arrays, typed values, escaping, indentation.
 *
 * Commas and indentation come from the writer's own stack, so that a document
 * that was begun and ended is always well formed. Strings are bytes that
 * should be UTF-8; what is not becomes U+FFFD. A number that JSON cannot say
 * (NaN, infinity) becomes null.
 */
#ifndef TOOLS_JSON_H
#define TOOLS_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define JSON_MAX_DEPTH	32

/**
 * struct json - a document being written. Fields are the writer's own.
 * @out: Stream.
 * @depth: Open containers.
 * @error: Misuse or a failed write: sticky, reported by json_end_document().
 * @done: The top value is complete.
 * @after_key: A key waits for its value.
 * @object: Per level: object (else array).
 * @filled: Per level: has an element.
 */
struct json {
	FILE *out;
	unsigned int depth;
	int error;
	bool done;
	bool after_key;
	bool object[JSON_MAX_DEPTH];
	bool filled[JSON_MAX_DEPTH];
};

/** json_begin_document() - start writing one document to @out. */
void json_begin_document(struct json *j, FILE *out);

/**
 * json_end_document() - end the line and report.
 *
 * Return: 0, -EINVAL when the calls do not make a whole document, -EIO when a
 * write failed.
 */
int json_end_document(struct json *j);

void json_object(struct json *j);
void json_object_end(struct json *j);
void json_array(struct json *j);
void json_array_end(struct json *j);

/** json_key() - name of the next value of an object. */
void json_key(struct json *j, const char *key);

void json_string(struct json *j, const char *s);
void json_string_len(struct json *j, const char *s, size_t n);
void json_u64(struct json *j, uint64_t v);
void json_i64(struct json *j, int64_t v);
void json_double(struct json *j, double v);
void json_bool(struct json *j, bool v);
void json_null(struct json *j);

/* A key and its value. */
void json_kv_string(struct json *j, const char *key, const char *s);
void json_kv_u64(struct json *j, const char *key, uint64_t v);
void json_kv_i64(struct json *j, const char *key, int64_t v);
void json_kv_double(struct json *j, const char *key, double v);
void json_kv_bool(struct json *j, const char *key, bool v);
void json_kv_null(struct json *j, const char *key);

/**
 * json_utf8_valid() - length of the UTF-8 character at @s.
 *
 * Return: 1 … 4, or 0 when the bytes are none (overlong, surrogate, past
 * U+10FFFF, cut short by @n).
 */
unsigned int json_utf8_valid(const unsigned char *s, size_t n);

#endif /* TOOLS_JSON_H */
