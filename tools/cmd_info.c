// SPDX-License-Identifier: MIT
/*
 * vrdu info: static facts about one device, or about all of them. Opens
 * devices and asks; changes nothing.
 */
#include "tool.h"
#include "common/json.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODE_DIR	"/dev/accel"
#define MAX_NODES	64

/**
 * struct info_cmd - the command line.
 * @device: Which device.
 * @json: --json.
 * @list: --list.
 */
struct info_cmd {
	struct tool_device device;
	bool json;
	bool list;
};

static void json_info(struct json *j, const struct vrdu_device_info *i)
{
	json_kv_string(j, "backend", i->backend);
	json_kv_string(j, "path", i->path);
	json_kv_string(j, "profile", i->profile);
	json_kv_string(j, "math", i->math);
	json_kv_u64(j, "instance", i->instance);
	json_kv_u64(j, "pcus", i->pcus);
	json_kv_u64(j, "pmus", i->pmus);
	json_kv_u64(j, "agcus", i->agcus);
	json_kv_u64(j, "pmu_bytes", i->pmu_bytes);
	json_kv_u64(j, "clock_hz", (uint64_t)i->clock_khz * 1000);
	json_kv_u64(j, "hbm_bytes", i->hbm_bytes);
	json_kv_u64(j, "hbm_bytes_per_s", i->hbm_bytes_per_s);
	json_kv_u64(j, "ddr_bytes", i->ddr_bytes);
	json_kv_u64(j, "max_calls", i->max_calls);
	json_kv_u64(j, "page_bytes", i->page_bytes);
}

static void print_info(const struct vrdu_device_info *i)
{
	printf("device           %s (%s)\n", i->path, i->backend);
	printf("library          %s\n", vrdu_version());
	printf("socket           %u\n", i->instance);
	printf("profile          %s\n", i->profile);
	printf("arithmetic       %s\n", i->math);
	printf("compute units    %u\n", i->pcus);
	printf("memory units     %u of %u KiB\n", i->pmus, i->pmu_bytes / 1024);
	printf("addr generators  %u\n", i->agcus);
	printf("clock            %u MHz (modelled)\n", i->clock_khz / 1000);
	printf("HBM              %" PRIu64 " MiB, %.1f GB/s (modelled)\n", i->hbm_bytes >> 20,
	       (double)i->hbm_bytes_per_s / 1e9);
	printf("DDR              %" PRIu64 " MiB\n", i->ddr_bytes >> 20);
	printf("submission       up to %u calls\n", i->max_calls);
}

static int one(const struct args_spec *spec, const struct info_cmd *cmd)
{
	struct vrdu_device_info info;
	struct vrdu_device *dev;
	struct json j;
	int code, ret;

	code = tool_open(spec, &cmd->device, &dev);
	if (code)
		return code;
	ret = vrdu_device_get_info(dev, &info, sizeof(info));
	if (ret) {
		code = tool_fail(spec, ret, vrdu_last_error());
	} else if (cmd->json) {
		json_begin_document(&j, stdout);
		json_object(&j);
		json_kv_string(&j, "schema", "vrdu-info/1");
		json_kv_string(&j, "library_version", vrdu_version());
		json_info(&j, &info);
		json_object_end(&j);
		json_end_document(&j);
	} else {
		print_info(&info);
	}
	vrdu_device_unref(dev);
	return code;
}

static int by_number(const struct dirent **a, const struct dirent **b)
{
	return atoi((*a)->d_name + 5) - atoi((*b)->d_name + 5);
}

static int is_node(const struct dirent *d)
{
	return !strncmp(d->d_name, "accel", 5) && d->d_name[5] >= '0' && d->d_name[5] <= '9';
}

/* An entry of the list: facts, or why there are none. Nodes of other drivers are none of ours. */
static void list_entry(struct json *j, const char *path)
{
	struct vrdu_device_info info;
	struct vrdu_device *dev = NULL;
	const char *why;
	int ret;

	ret = vrdu_device_open(path, NULL, &dev);
	if (ret == -ENODEV)
		return;
	if (!ret)
		ret = vrdu_device_get_info(dev, &info, sizeof(info));
	why = vrdu_last_error();
	if (j) {
		json_object(j);
		if (ret) {
			json_kv_string(j, "path", path);
			json_key(j, "error");
			json_object(j);
			json_kv_i64(j, "errno", -ret);
			json_kv_string(j, "text", why);
			json_object_end(j);
		} else {
			json_info(j, &info);
			json_kv_null(j, "error");
		}
		json_object_end(j);
	} else if (ret) {
		printf("%-20s error: %s\n", path, why);
	} else {
		printf("%-20s %s, socket %u, %u compute units, %" PRIu64 " MiB HBM\n", info.path,
		       info.profile, info.instance, info.pcus, info.hbm_bytes >> 20);
	}
	vrdu_device_unref(dev);
}

static int list(const struct info_cmd *cmd)
{
	struct dirent **names = NULL;
	struct json doc, *j = cmd->json ? &doc : NULL;
	int n = scandir(NODE_DIR, &names, is_node, by_number), i;
	char path[512];

	if (j) {
		json_begin_document(j, stdout);
		json_object(j);
		json_kv_string(j, "schema", "vrdu-info-list/1");
		json_kv_string(j, "library_version", vrdu_version());
		json_key(j, "devices");
		json_array(j);
	}
	for (i = 0; i < n; i++) {
		snprintf(path, sizeof(path), NODE_DIR "/%s", names[i]->d_name);
		if (i < MAX_NODES)
			list_entry(j, path);
		free(names[i]);
	}
	free(names);
	list_entry(j, "sim");
	list_entry(j, "sim:tiny");
	if (j) {
		json_array_end(j);
		json_object_end(j);
		json_end_document(j);
	}
	return TOOL_OK;
}

int cmd_info(int argc, char **argv)
{
	struct info_cmd cmd = { 0 };
	const struct args_option options[] = {
		TOOL_DEVICE_OPTIONS(&cmd.device),
		{ "list", 'l', ARGS_FLAG, &cmd.list, 0, 0, NULL, NULL,
		  "all devices, nodes and simulated ones" },
		{ "json", 0, ARGS_FLAG, &cmd.json, 0, 0, NULL, NULL,
		  "one JSON document on stdout" },
		{ 0 },
	};
	const struct args_spec spec = {
		.command = "vrdu info",
		.usage = "[options]",
		.summary = "Static facts about a device.",
		.options = options,
	};
	int first, ret, code;

	ret = args_parse(&spec, argc, argv, &first);
	if (ret)
		return ret == ARGS_HELP ? TOOL_OK : TOOL_USAGE;
	if (first < argc) {
		args_usage_error(&spec, "unexpected operand '%s'", argv[first]);
		return TOOL_USAGE;
	}
	code = cmd.list ? list(&cmd) : one(&spec, &cmd);
	return tool_finish_stdout(&spec, code);
}
