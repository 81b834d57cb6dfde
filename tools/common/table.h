/* SPDX-License-Identifier: MIT */
/*
 * Table printer: rows of text, columns as wide as their widest cell.
 */
#ifndef TOOLS_TABLE_H
#define TOOLS_TABLE_H

#include <stdio.h>

#define TABLE_MAX_COLUMNS	16
#define TABLE_MAX_ROWS		64
#define TABLE_CELL		40

/**
 * struct table - a table in memory.
 * @columns: Columns.
 * @rows: Rows, headings included.
 * @used: Cells of the row being filled.
 * @cell: Texts.
 * @left: Per column: left-aligned (else right).
 */
struct table {
	unsigned int columns;
	unsigned int rows;
	unsigned int used;
	char cell[TABLE_MAX_ROWS][TABLE_MAX_COLUMNS][TABLE_CELL];
	unsigned char left[TABLE_MAX_COLUMNS];
};

/** table_init() - an empty table of @columns columns; the first is left-aligned. */
void table_init(struct table *t, unsigned int columns);

/** table_cell() - next cell, from left to right, then the next row. Drops what is too much. */
void table_cell(struct table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/** table_print() - print; the first @headings rows are underlined as a block. */
void table_print(const struct table *t, unsigned int headings, FILE *out);

#endif /* TOOLS_TABLE_H */
