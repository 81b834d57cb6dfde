#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Write a Llama-type model in any of the file kinds that the product reads.

  convert.py --from scripture.gguf --to llama2c-v0 model.bin
  convert.py --random 7 --shape 48,172,3,6,2,300,64 --to gguf-f16 random.gguf

Kinds: llama2c-v0 llama2c-v1 llama2c-v2 tokenizer.bin gguf-f32 gguf-f16 gguf-bf16 gguf-q8_0.

Needs nothing but Python's own library. Every output is a function of the input alone: the same
arguments give the same bytes on every machine. export.py uses the GGUF writer of this file.
"""
import argparse
import array
import math
import os
import random
import struct
import sys

GGUF_ALIGNMENT = 32
F32, F16, Q8_0, BF16 = 0, 1, 8, 30
FILE_TYPE = {F32: 0, F16: 1, Q8_0: 7, BF16: 32}
TYPE_OF_KIND = {"gguf-f32": F32, "gguf-f16": F16, "gguf-q8_0": Q8_0, "gguf-bf16": BF16}
KINDS = ["llama2c-v0", "llama2c-v1", "llama2c-v2", "tokenizer.bin"] + list(TYPE_OF_KIND)
SPACE = "\u2581"

# GGUF value types: code -> struct format of the fixed-size ones.
U32, F32_VALUE, BOOL, STRING, ARRAY = 4, 6, 7, 8, 9
FIXED = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q",
         11: "<q", 12: "<d"}
I32 = 5

LAYER_ROLES = ["attn_norm", "attn_q", "attn_k", "attn_v", "attn_output", "ffn_norm", "ffn_gate",
               "ffn_down", "ffn_up"]


class Bad(Exception):
    """An input that cannot be converted; the message is what the user sees."""


# Element types -----------------------------------------------------------------------------------

def to_array(raw):
    """Little-endian float32 bytes as an array of floats."""
    out = array.array("f")
    out.frombytes(raw)
    if sys.byteorder == "big":
        out.byteswap()
    return out


def to_bytes(values):
    """An array of floats as little-endian float32 bytes."""
    if sys.byteorder == "big":
        values = values[:]
        values.byteswap()
    return values.tobytes()


def bf16_to_f32(raw):
    """bfloat16 is the upper half of a float32."""
    wide = bytearray(2 * len(raw))
    wide[2::4], wide[3::4] = raw[0::2], raw[1::2]
    return to_array(bytes(wide))


def f32_to_bf16(values):
    """Round to nearest, ties to even."""
    bits = struct.unpack(f"<{len(values)}I", to_bytes(values))
    return struct.pack(f"<{len(bits)}H", *[(b + 0x7FFF + (b >> 16 & 1)) >> 16 for b in bits])


def f32_to_f16(values):
    """Round to nearest, ties to even; a value that float16 cannot hold is an error."""
    return struct.pack(f"<{len(values)}e", *values)


def f32(value):
    """The nearest float32."""
    return struct.unpack("<f", struct.pack("<f", value))[0]


def q8_0_to_f32(raw):
    """GGUF blocks: a float16 scale, then 32 int8."""
    out = array.array("f")
    for scale, *values in struct.iter_unpack("<e32b", raw):
        out.extend([scale * v for v in values])
    return out


def f32_to_q8_0(values):
    """GGUF blocks: scale = largest magnitude / 127 as float16, values round(x / scale)."""
    out = bytearray()
    for i in range(0, len(values), 32):
        block = values[i:i + 32]
        top = max(max(block), -min(block))
        scale = top / 127.0
        inverse = 1.0 / scale if scale else 0.0
        out += struct.pack("<e32b", scale, *[math.floor(abs(x) * inverse + 0.5)
                                             if x > 0 else -math.floor(abs(x) * inverse + 0.5)
                                             for x in block])
    return bytes(out)


def f32_to_groups(values, group):
    """llama2.c version 2: int8 values, and apart from them one float32 scale a group."""
    quants, scales = array.array("b"), array.array("f")
    for i in range(0, len(values), group):
        block = values[i:i + group]
        scale = f32(max(max(block), -min(block)) / 127.0)
        scales.append(scale)
        quants.extend([round(x / scale) for x in block] if scale else [0] * len(block))
    return quants.tobytes(), to_bytes(scales)


DECODE = {F32: to_array, BF16: bf16_to_f32, Q8_0: q8_0_to_f32,
          F16: lambda raw: array.array("f", struct.unpack(f"<{len(raw) // 2}e", raw))}
ENCODE = {F32: to_bytes, BF16: f32_to_bf16, Q8_0: f32_to_q8_0, F16: f32_to_f16}


def size_of(kind, count):
    """Bytes of `count` elements of a GGUF element type."""
    return {F32: 4 * count, F16: 2 * count, BF16: 2 * count, Q8_0: count // 32 * 34}[kind]


# The model in memory -----------------------------------------------------------------------------

class Model:
    """A shape, a vocabulary and float32 tensors under their GGUF names (row-major, rows = outputs).

    vocabulary is a list of (piece, score, token type); a space is written as U+2581.
    """

    def __init__(self, shape, vocabulary, tensors, name):
        self.shape, self.vocabulary, self.tensors, self.name = shape, vocabulary, tensors, name
        self.tied = "output.weight" not in tensors
        for key, dims in self.dims().items():
            if key not in tensors:
                raise Bad(f"the model has no tensor {key}")
            if len(tensors[key]) != math.prod(dims):
                raise Bad(f"{key} has {len(tensors[key])} elements, its shape is {dims}")

    def dims(self):
        """Name -> shape, in the order in which GGUF files list them."""
        s = self.shape
        kv = s["dim"] // s["heads"] * s["kv_heads"]
        of_role = {"attn_norm": (s["dim"],), "attn_q": (s["dim"], s["dim"]),
                   "attn_k": (kv, s["dim"]), "attn_v": (kv, s["dim"]),
                   "attn_output": (s["dim"], s["dim"]), "ffn_norm": (s["dim"],),
                   "ffn_gate": (s["hidden"], s["dim"]), "ffn_down": (s["dim"], s["hidden"]),
                   "ffn_up": (s["hidden"], s["dim"])}
        dims = {"token_embd.weight": (s["vocab"], s["dim"])}
        for i in range(s["layers"]):
            dims.update({f"blk.{i}.{role}.weight": of_role[role] for role in LAYER_ROLES})
        dims["output_norm.weight"] = (s["dim"],)
        if not self.tied:
            dims["output.weight"] = (s["vocab"], s["dim"])
        return dims

    def role(self, role):
        """The tensors of one role, layer after layer."""
        return [self.tensors[f"blk.{i}.{role}.weight"] for i in range(self.shape["layers"])]


def check_shape(shape):
    """Refuse what no Llama-type model can be."""
    if min(shape.values()) < 1:
        raise Bad("every number of a shape must be at least 1")
    if shape["dim"] % shape["heads"] or shape["dim"] // shape["heads"] % 2:
        raise Bad("dim must be heads times an even head size")
    if shape["heads"] % shape["kv_heads"]:
        raise Bad("heads must be a multiple of kvheads")


def random_model(seed, numbers, tied):
    """A model with uniform random bfloat16 matrices: wrong as a language, right as a test.

    Only Random.random() is used: Python promises its sequence for a seed.
    """
    keys = ["dim", "hidden", "layers", "heads", "kv_heads", "vocab", "context"]
    shape = dict(zip(keys, numbers))
    check_shape(shape)
    rng = random.Random(seed)
    model = Model.__new__(Model)
    model.shape, model.tied, tensors = shape, tied, {}
    for key, dims in model.dims().items():
        count = math.prod(dims)
        if len(dims) == 1:
            tensors[key] = array.array("f", [0.75 + 0.5 * rng.random() for _ in range(count)])
        else:
            width = math.sqrt(3.0 / dims[1])
            values = array.array("f", [width * (2 * rng.random() - 1) for _ in range(count)])
            tensors[key] = bf16_to_f32(f32_to_bf16(values))
    vocabulary = [("<unk>", 0.0, 2), ("<s>", 0.0, 3), ("</s>", 0.0, 3)]
    vocabulary += [(f"<0x{b:02X}>", 0.0, 6) for b in range(256)]
    rest = [SPACE] + [chr(c) for c in range(33, 127)]
    vocabulary += [(piece, -1e6 - i, 1) for i, piece in enumerate(rest)]
    vocabulary += [(f"{SPACE}{i}", -float(i), 1) for i in range(max(0, shape["vocab"] - 354))]
    return Model(shape, vocabulary[:shape["vocab"]], tensors, f"random {seed}")


# GGUF --------------------------------------------------------------------------------------------

class Reader:
    """A cursor that names what is missing when a file ends too early."""

    def __init__(self, raw):
        self.raw, self.at = raw, 0

    def take(self, count, what):
        if count > len(self.raw) - self.at:
            raise Bad(f"the file ends inside {what}")
        self.at += count
        return self.raw[self.at - count:self.at]

    def number(self, form, what):
        return struct.unpack(form, self.take(struct.calcsize(form), what))[0]

    def string(self, what):
        return self.take(self.number("<Q", what), what).decode("utf-8", "strict")

    def value(self, kind, what):
        if kind == STRING:
            return self.string(what)
        if kind == ARRAY:
            inner, count = self.number("<I", what), self.number("<Q", what)
            if count > len(self.raw):
                raise Bad(f"{what} has more elements than the file has bytes")
            return [self.value(inner, what) for _ in range(count)]
        if kind not in FIXED:
            raise Bad(f"{what} has the unknown value type {kind}")
        return self.number(FIXED[kind], what)


def read_gguf(path):
    """A GGUF version 3 file of architecture llama as a Model."""
    with open(path, "rb") as file:
        reader = Reader(file.read())
    if reader.take(4, "the magic") != b"GGUF":
        raise Bad(f"{path} is not a GGUF file")
    version = reader.number("<I", "the version")
    if version != 3:
        raise Bad(f"{path} is GGUF version {version}, only 3 is read")
    tensor_count, key_count = reader.number("<Q", "header"), reader.number("<Q", "header")
    keys = {}
    for _ in range(key_count):
        key = reader.string("a key")
        keys[key] = reader.value(reader.number("<I", key), key)
    infos = []
    for _ in range(tensor_count):
        name = reader.string("a tensor name")
        count = reader.number("<I", name)
        if count > 4:
            raise Bad(f"{name} has {count} dimensions")
        dims = [reader.number("<Q", name) for _ in range(count)]
        infos.append((name, math.prod(dims), reader.number("<I", name), reader.number("<Q", name)))
    alignment = keys.get("general.alignment", GGUF_ALIGNMENT)
    if not 0 < alignment <= 65536:
        raise Bad(f"general.alignment is {alignment}")
    base = -(-reader.at // alignment) * alignment
    tensors = {}
    for name, count, kind, offset in infos:
        if kind not in DECODE:
            raise Bad(f"{name} has element type {kind}: only F32, F16, BF16 and Q8_0 are read")
        reader.at = base + offset
        tensors[name] = DECODE[kind](reader.take(size_of(kind, count), name))
    return model_of(keys, tensors)


def model_of(keys, tensors):
    """Check the keys of a GGUF file and make the Model."""
    def need(key):
        if key not in keys:
            raise Bad(f"the file has no key {key}")
        return keys[key]
    if need("general.architecture") != "llama":
        raise Bad(f"the architecture is {keys['general.architecture']}, not llama")
    tokens = need("tokenizer.ggml.tokens")
    shape = {"dim": need("llama.embedding_length"), "hidden": need("llama.feed_forward_length"),
             "layers": need("llama.block_count"), "heads": need("llama.attention.head_count"),
             "kv_heads": need("llama.attention.head_count_kv"), "vocab": len(tokens),
             "context": need("llama.context_length")}
    check_shape(shape)
    if keys.get("llama.rope.freq_base", 10000.0) != 10000.0:
        raise Bad("llama.rope.freq_base is not 10000: llama2.c files cannot say so")
    if keys.get("llama.rope.dimension_count") not in (None, shape["dim"] // shape["heads"]):
        raise Bad("llama.rope.dimension_count is not the head size")
    if abs(need("llama.attention.layer_norm_rms_epsilon") - 1e-5) > 1e-9:
        raise Bad("llama.attention.layer_norm_rms_epsilon is not 1e-5")
    vocabulary = list(zip(tokens, need("tokenizer.ggml.scores"),
                          need("tokenizer.ggml.token_type")))
    if len(vocabulary) != len(tokens):
        raise Bad("tokens, scores and token types differ in number")
    return Model(shape, vocabulary, tensors, keys.get("general.name", "model"))


def pack_string(text):
    raw = text.encode("utf-8")
    return struct.pack("<Q", len(raw)) + raw


def pack_value(kind, value):
    """A typed GGUF value; arrays come as (element type, list)."""
    if kind == STRING:
        return pack_string(value)
    if kind == ARRAY:
        inner, values = value
        return struct.pack("<IQ", inner, len(values)) + b"".join(pack_value(inner, v)
                                                                 for v in values)
    return struct.pack(FIXED[kind], value)


def gguf_keys(model, kind):
    """The keys of a Llama file, as (key, value type, value)."""
    s = model.shape
    pieces, scores, types = zip(*model.vocabulary)
    return [
        ("general.architecture", STRING, "llama"),
        ("general.name", STRING, model.name),
        ("general.alignment", U32, GGUF_ALIGNMENT),
        ("general.file_type", U32, FILE_TYPE[kind]),
        ("llama.context_length", U32, s["context"]),
        ("llama.embedding_length", U32, s["dim"]),
        ("llama.block_count", U32, s["layers"]),
        ("llama.feed_forward_length", U32, s["hidden"]),
        ("llama.attention.head_count", U32, s["heads"]),
        ("llama.attention.head_count_kv", U32, s["kv_heads"]),
        ("llama.attention.layer_norm_rms_epsilon", F32_VALUE, 1e-5),
        ("llama.rope.dimension_count", U32, s["dim"] // s["heads"]),
        ("llama.rope.freq_base", F32_VALUE, 10000.0),
        ("llama.vocab_size", U32, s["vocab"]),
        ("tokenizer.ggml.model", STRING, "llama"),
        ("tokenizer.ggml.tokens", ARRAY, (STRING, pieces)),
        ("tokenizer.ggml.scores", ARRAY, (F32_VALUE, scores)),
        ("tokenizer.ggml.token_type", ARRAY, (I32, types)),
        ("tokenizer.ggml.bos_token_id", U32, 1),
        ("tokenizer.ggml.eos_token_id", U32, 2),
        ("tokenizer.ggml.unknown_token_id", U32, 0),
        ("tokenizer.ggml.add_bos_token", BOOL, True),
        ("tokenizer.ggml.add_space_prefix", BOOL, True),
    ]


def gguf_bytes(model, kind):
    """A whole GGUF file with matrices of one element type; vectors stay float32.

    Rows that Q8_0 blocks do not divide are stored as float16, which is what llama.cpp does.
    """
    keys = gguf_keys(model, kind)
    infos, data = bytearray(), bytearray()
    dims_of = model.dims()
    for name, dims in dims_of.items():
        used = F32 if len(dims) == 1 else kind
        if used == Q8_0 and dims[-1] % 32:
            used = F16
        data += bytes(-len(data) % GGUF_ALIGNMENT)
        infos += pack_string(name) + struct.pack("<I", len(dims))
        infos += b"".join(struct.pack("<Q", n) for n in reversed(dims))
        infos += struct.pack("<IQ", used, len(data))
        data += ENCODE[used](model.tensors[name])
    head = b"GGUF" + struct.pack("<IQQ", 3, len(dims_of), len(keys))
    for key, value_type, value in keys:
        head += pack_string(key) + struct.pack("<I", value_type) + pack_value(value_type, value)
    head += infos
    head += bytes(-len(head) % GGUF_ALIGNMENT)
    return head + bytes(data) + bytes(-len(data) % GGUF_ALIGNMENT)


# llama2.c ----------------------------------------------------------------------------------------

def llama2c_numbers(model, vocab):
    s = model.shape
    return struct.pack("<7i", s["dim"], s["hidden"], s["layers"], s["heads"], s["kv_heads"], vocab,
                       s["context"])


def llama2c_v0(model):
    """The old header of seven integers, float32, with the unused RoPE tables."""
    s = model.shape
    size = s["dim"] // s["heads"]
    angles = [p * 10000.0 ** (-2.0 * i / size) for p in range(s["context"])
              for i in range(size // 2)]
    parts = [model.tensors["token_embd.weight"]]
    for role in ("attn_norm", "attn_q", "attn_k", "attn_v", "attn_output", "ffn_norm", "ffn_gate",
                 "ffn_down", "ffn_up"):
        parts += model.role(role)
    parts.append(model.tensors["output_norm.weight"])
    parts.append(array.array("f", [math.cos(a) for a in angles]))
    parts.append(array.array("f", [math.sin(a) for a in angles]))
    if not model.tied:
        parts.append(model.tensors["output.weight"])
    vocab = s["vocab"] if model.tied else -s["vocab"]
    return llama2c_numbers(model, vocab) + b"".join(to_bytes(p) for p in parts)


def llama2c_head(model, version, *more):
    """The 256-byte header of versions 1 and 2."""
    head = struct.pack("<Ii", 0x616B3432, version) + llama2c_numbers(model, model.shape["vocab"])
    head += struct.pack("<B", model.tied) + b"".join(more)
    return head + bytes(256 - len(head))


def llama2c_norms(model):
    norms = model.role("attn_norm") + model.role("ffn_norm") + [model.tensors["output_norm.weight"]]
    return b"".join(to_bytes(n) for n in norms)


def llama2c_matrices(model):
    out = [model.tensors["token_embd.weight"]]
    for role in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_down", "ffn_up"):
        out += model.role(role)
    return out if model.tied else out + [model.tensors["output.weight"]]


def llama2c_v1(model):
    """Version 1: header with a magic number, then float32."""
    return (llama2c_head(model, 1) + llama2c_norms(model)
            + b"".join(to_bytes(m) for m in llama2c_matrices(model)))


def llama2c_v2(model):
    """Version 2: int8 in groups; each tensor's values, then its scales.

    A group must not straddle rows, so that it divides dim and hidden: 64 is halved until it does.
    """
    group = 64
    while model.shape["dim"] % group or model.shape["hidden"] % group:
        group //= 2
    done = [f32_to_groups(m, group) for m in llama2c_matrices(model)]
    return (llama2c_head(model, 2, struct.pack("<i", group)) + llama2c_norms(model)
            + b"".join(q + s for q, s in done))


def tokenizer_bin(model):
    """llama2.c's tokenizer.bin: longest piece, then score, length and bytes of each."""
    rows = []
    for ident, (piece, score, _) in enumerate(model.vocabulary):
        text = {1: "\n<s>\n", 2: "\n</s>\n"}.get(ident, piece.replace(SPACE, " "))
        rows.append((score, text.encode("utf-8")))
    out = struct.pack("<I", max(len(raw) for _, raw in rows))
    return out + b"".join(struct.pack("<fi", score, len(raw)) + raw for score, raw in rows)


# Command line ------------------------------------------------------------------------------------

def encode_model(model, kind):
    """The bytes of one output file."""
    if kind in TYPE_OF_KIND:
        return gguf_bytes(model, TYPE_OF_KIND[kind])
    return {"llama2c-v0": llama2c_v0, "llama2c-v1": llama2c_v1, "llama2c-v2": llama2c_v2,
            "tokenizer.bin": tokenizer_bin}[kind](model)


def write_file(path, raw):
    """Replace a file in one step: a reader sees the old or the new one."""
    with open(path + ".part", "wb") as file:
        file.write(raw)
    os.replace(path + ".part", path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, usage="convert.py (--from GGUF | "
                                     "--random SEED --shape ...) --to KIND OUTPUT [--to ...]",
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--from", dest="source", metavar="GGUF")
    source.add_argument("--random", type=int, metavar="SEED")
    parser.add_argument("--shape", metavar="DIM,HIDDEN,LAYERS,HEADS,KVHEADS,VOCAB,SEQ")
    parser.add_argument("--untied", action="store_true",
                        help="give the random model a classifier of its own")
    parser.add_argument("--to", action="append", nargs=2, required=True,
                        metavar=("KIND", "OUTPUT"))
    args = parser.parse_args()
    for kind, _ in args.to:
        if kind not in KINDS:
            parser.error(f"unknown kind {kind}; known: {' '.join(KINDS)}")
    try:
        if args.source:
            model = read_gguf(args.source)
        else:
            numbers = [int(n) for n in (args.shape or "").split(",") if n]
            if len(numbers) != 7:
                parser.error("--random needs --shape with seven numbers")
            model = random_model(args.random, numbers, not args.untied)
        for kind, path in args.to:
            write_file(path, encode_model(model, kind))
    except (Bad, OSError, UnicodeDecodeError, OverflowError) as error:
        sys.exit(f"convert.py: {error}")


if __name__ == "__main__":
    main()
