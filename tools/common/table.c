// SPDX-License-Identifier: MIT
/*
 * Table printer: see table.h. Fixed bounds, no allocation.
 */
#include "table.h"

#include <stdarg.h>
#include <string.h>

void table_init(struct table *t, unsigned int columns)
{
	memset(t, 0, sizeof(*t));
	t->columns = columns < TABLE_MAX_COLUMNS ? columns : TABLE_MAX_COLUMNS;
	t->left[0] = 1;
}

void table_cell(struct table *t, const char *fmt, ...)
{
	va_list ap;

	if (!t->used) {
		if (t->rows == TABLE_MAX_ROWS)
			return;
		t->rows++;
	}
	va_start(ap, fmt);
	vsnprintf(t->cell[t->rows - 1][t->used], TABLE_CELL, fmt, ap);
	va_end(ap);
	if (++t->used == t->columns)
		t->used = 0;
}

void table_print(const struct table *t, unsigned int headings, FILE *out)
{
	unsigned int width[TABLE_MAX_COLUMNS] = { 0 };
	unsigned int r, c, total = 0, n;

	for (r = 0; r < t->rows; r++) {
		for (c = 0; c < t->columns; c++) {
			n = strlen(t->cell[r][c]);
			if (n > width[c])
				width[c] = n;
		}
	}
	for (c = 0; c < t->columns; c++)
		total += width[c] + (c ? 2 : 0);
	for (r = 0; r < t->rows; r++) {
		for (c = 0; c < t->columns; c++)
			fprintf(out, "%s%*s", c ? "  " : "",
				t->left[c] ? -(int)width[c] : (int)width[c], t->cell[r][c]);
		fputc('\n', out);
		if (r + 1 == headings) {
			for (n = 0; n < total; n++)
				fputc('-', out);
			fputc('\n', out);
		}
	}
}
