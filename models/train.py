#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Train the small Llama-type model that the tests and the demonstration decode.

The text is the King James Version as Debian's bible-kjv-text package carries it (public domain),
printed by `bible -f gen1:1-rev22:21` of the bible-kjv package. This script builds the vocabulary
(byte-pair encoding, see build_vocabulary), trains in float32 and writes a checkpoint that export.py
turns into the shipped files. README.md has the command, the seed and the loss of the shipped model.

Needs Debian's python3-torch; libopenblas0-pthread makes it about thirty times as fast.
"""
import argparse
import collections
import json
import math
import os
import random
import re
import subprocess
import time

import torch
import torch.nn.functional as F

BOS, EOS, BYTE0, FIRST_PIECE = 1, 2, 3, 259
VERSE = re.compile(r"^([0-9A-Za-z]+?)(\d+):(\d+) (.*)$")


def read_chapters(command):
    """The text as a list of chapters, each a list of verses without their numbers."""
    text = subprocess.run(command, shell=True, check=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE).stdout.decode("ascii")
    chapters, last = [], None
    for line in text.splitlines():
        match = VERSE.match(line)
        if not match:
            raise SystemExit(f"train.py: not a verse: {line!r}")
        book, chapter, _, verse = match.groups()
        if (book, chapter) != last:
            chapters.append([])
            last = (book, chapter)
        chapters[-1].append(" ".join(verse.split()))
    return chapters


def build_vocabulary(chapters, size):
    """Byte-pair encoding over words; returns [(piece, score)] for ids 0..size-1.

    A word is a run without white space together with the space before it, so that no piece
    crosses a word and the encoder's order of merges within one word is all that matters. A line's
    first word has no space. Pieces that a merge makes come in order of their rank and
    score = -rank: an encoder that always merges the pair with the highest score repeats the
    merges in the order in which they were learned. Single characters have the lowest scores.
    """
    words = collections.Counter()
    for chapter in chapters:
        for verse in chapter:
            words.update(re.findall(r" ?[^ ]+", verse))
            words[" " + verse.split(" ", 1)[0]] += 1
    characters = sorted({c for word in words for c in word})
    merges_wanted = size - FIRST_PIECE - len(characters)
    if merges_wanted < 0:
        raise SystemExit("train.py: the vocabulary is too small for the text's characters")
    split = {word: list(word) for word in words}
    merges, known = [], set(characters)
    while len(merges) < merges_wanted:
        pairs = collections.Counter()
        for word, count in words.items():
            parts = split[word]
            for pair in zip(parts, parts[1:]):
                pairs[pair] += count
        # The pair itself breaks ties, so that the vocabulary does not depend on the hash order.
        (left, right), _ = max(pairs.items(), key=lambda item: (item[1], item[0]))
        joined = left + right
        if joined not in known:
            known.add(joined)
            merges.append(joined)
        for word, parts in split.items():
            if left not in parts:
                continue
            out, i = [], 0
            while i < len(parts):
                if i + 1 < len(parts) and parts[i] == left and parts[i + 1] == right:
                    out.append(joined)
                    i += 2
                else:
                    out.append(parts[i])
                    i += 1
            split[word] = out
    vocabulary = [("<unk>", 0.0), ("<s>", 0.0), ("</s>", 0.0)]
    vocabulary += [(f"<0x{b:02X}>", 0.0) for b in range(256)]
    vocabulary += [(piece, -float(rank)) for rank, piece in enumerate(merges + characters)]
    return vocabulary


class Encoder:
    """The encoder of llama2.c: characters first, then always the best-scored adjacent pair."""

    def __init__(self, vocabulary):
        self.score = {p: s for p, s in vocabulary[FIRST_PIECE:]}
        self.ident = {p: FIRST_PIECE + i for i, (p, _) in enumerate(vocabulary[FIRST_PIECE:])}
        self.words = {}

    def word(self, word):
        """Ids of one word (with its leading space, if it has one)."""
        if word in self.words:
            return self.words[word]
        parts = list(word)
        while True:
            best, where = -math.inf, -1
            for i in range(len(parts) - 1):
                score = self.score.get(parts[i] + parts[i + 1], -math.inf)
                if score > best:
                    best, where = score, i
            if where < 0:
                break
            parts[where:where + 2] = [parts[where] + parts[where + 1]]
        ids = []
        for part in parts:
            if part in self.ident:
                ids.append(self.ident[part])
            else:
                ids += [BYTE0 + b for b in part.encode()]
        self.words[word] = ids
        return ids

    def text(self, text):
        """Ids of a text; the caller adds the leading space where the format wants one."""
        ids = []
        for word in re.findall(r"\n| ?[^ \n]+| ", text):
            ids += self.word(word)
        return ids


class Norm(torch.nn.Module):
    """RMSNorm with a learned gain."""

    def __init__(self, dim):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight


class Layer(torch.nn.Module):
    """One decoder layer: grouped-query attention, then SwiGLU, each behind an RMSNorm."""

    def __init__(self, shape):
        super().__init__()
        dim, hidden = shape["dim"], shape["hidden"]
        self.heads, self.kv_heads = shape["heads"], shape["kv_heads"]
        self.head_size = dim // self.heads
        kv = self.kv_heads * self.head_size
        linear = lambda i, o: torch.nn.Linear(i, o, bias=False)
        self.attn_norm, self.ffn_norm = Norm(dim), Norm(dim)
        self.attn_q, self.attn_k, self.attn_v = linear(dim, dim), linear(dim, kv), linear(dim, kv)
        self.attn_output = linear(dim, dim)
        self.ffn_gate, self.ffn_up = linear(dim, hidden), linear(dim, hidden)
        self.ffn_down = linear(hidden, dim)

    def forward(self, x, rope, mask):
        batch, length, dim = x.shape
        h = self.attn_norm(x)
        q = rotate(self.attn_q(h).view(batch, length, self.heads, -1), rope)
        k = rotate(self.attn_k(h).view(batch, length, self.kv_heads, -1), rope)
        v = self.attn_v(h).view(batch, length, self.kv_heads, -1)
        group = self.heads // self.kv_heads
        q = q.view(batch, length, self.kv_heads, group, -1).permute(0, 2, 3, 1, 4)
        q = q.reshape(batch * self.kv_heads, group * length, -1)
        k = k.permute(0, 2, 3, 1).reshape(batch * self.kv_heads, -1, length)
        v = v.transpose(1, 2).reshape(batch * self.kv_heads, length, -1)
        scores = torch.bmm(q * self.head_size ** -0.5, k).view(-1, group, length, length) + mask
        out = torch.bmm(scores.softmax(-1).view(-1, group * length, length), v)
        out = out.view(batch, self.kv_heads, group, length, -1).permute(0, 3, 1, 2, 4)
        x = x + self.attn_output(out.reshape(batch, length, dim))
        h = self.ffn_norm(x)
        return x + self.ffn_down(F.silu(self.ffn_gate(h)) * self.ffn_up(h))


def rotate(x, rope):
    """Rotary positions over the pairs (2i, 2i+1) of each head."""
    cos, sin = rope
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2)


class Model(torch.nn.Module):
    """The decoder; the classifier shares the token embedding's weights."""

    def __init__(self, shape):
        super().__init__()
        self.shape = shape
        self.token_embd = torch.nn.Embedding(shape["vocab"], shape["dim"])
        self.blk = torch.nn.ModuleList(Layer(shape) for _ in range(shape["layers"]))
        self.output_norm = Norm(shape["dim"])
        size, length = shape["dim"] // shape["heads"], shape["context"]
        angle = torch.outer(torch.arange(length, dtype=torch.float64),
                            10000.0 ** (-torch.arange(0, size, 2, dtype=torch.float64) / size))
        self.register_buffer("cos", angle.cos().float()[:, None, :], persistent=False)
        self.register_buffer("sin", angle.sin().float()[:, None, :], persistent=False)
        mask = torch.full((length, length), -1e30).triu(1)
        self.register_buffer("mask", mask, persistent=False)
        for name, p in self.named_parameters():
            if p.dim() == 2:
                std = 0.05 if name.startswith("token") else 0.7 * p.shape[1] ** -0.5
                if "attn_output" in name or "ffn_down" in name:
                    std /= math.sqrt(2 * shape["layers"])
                torch.nn.init.normal_(p, 0.0, std)

    def forward(self, tokens):
        length = tokens.shape[1]
        x = self.token_embd(tokens)
        rope = self.cos[:length], self.sin[:length]
        for layer in self.blk:
            x = layer(x, rope, self.mask[:length, :length])
        return F.linear(self.output_norm(x), self.token_embd.weight)


class Samples:
    """Training sequences: BOS, a verse as a text begins (leading space), what follows it.

    A chapter ends with EOS and is followed by the BOS of the next, so every sequence is full.
    """

    def __init__(self, chapters, encoder, length):
        self.length, self.stream, self.starts = length, [], []
        for chapter in chapters:
            for number, verse in enumerate(chapter):
                first = [BOS] + encoder.text(" " + verse)
                if number == 0:
                    self.stream += first
                else:
                    self.stream += encoder.text("\n" + verse)
                self.starts.append((first, len(self.stream)))
            self.stream.append(EOS)
        tail = length + 1
        self.stream += self.stream[:tail]
        self.order = []

    def one(self, index, length=None):
        """The sequence that starts at verse `index`: `length` inputs and one more target."""
        length = length or self.length
        first, after = self.starts[index]
        rest = max(0, length + 1 - len(first))
        return (first + self.stream[after:after + rest])[:length + 1]

    def batch(self, size, length, rng):
        """The next `size` sequences of an endless, shuffled walk over all verses."""
        while len(self.order) < size:
            again = list(range(len(self.starts)))
            rng.shuffle(again)
            self.order = again + self.order
        picked = [self.order.pop() for _ in range(size)]
        return torch.tensor([self.one(i, length) for i in picked])


def loss_of(model, data):
    """Mean loss per token, in nats, of a batch of sequences."""
    logits = model(data[:, :-1])
    return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), data[:, 1:].reshape(-1))


def lengths_of(plan):
    """The sequence length of every step; "64:100,256:50" is 100 steps of 64 tokens, 50 of 256."""
    lengths = []
    for part in plan.split(","):
        length, steps = part.split(":")
        lengths += [int(length)] * int(steps)
    return lengths


def held_out_loss(model, held):
    """Mean loss over every eighth verse of the held-out chapters."""
    with torch.no_grad():
        rows = [held.one(i) for i in range(0, len(held.starts), 8)]
        total = sum(loss_of(model, torch.tensor(rows[i:i + 32])).item() * len(rows[i:i + 32])
                    for i in range(0, len(rows), 32))
    return total / len(rows)


def round_to_bf16(model):
    """Round every matrix to what the shipped file holds; the norms stay float32."""
    with torch.no_grad():
        for p in model.parameters():
            if p.dim() == 2:
                p.copy_(p.bfloat16().float())


def save(path, model, vocabulary, facts):
    """Write the checkpoint so that a reader never sees half a file."""
    torch.save({"shape": model.shape, "vocabulary": vocabulary, "facts": facts,
                "weights": model.state_dict()}, path + ".part")
    os.replace(path + ".part", path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--out", default="model.pt")
    parser.add_argument("--text-command", default="bible -f gen1:1-rev22:21")
    parser.add_argument("--seed", type=int, default=1611)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--plan", default="64:2200,128:1320,256:880",
                        help="length:steps, in order; short sequences cost less a token")
    parser.add_argument("--stop", type=int, help="end after this step, inside the plan")
    parser.add_argument("--resume", help="start from the weights of this checkpoint")
    parser.add_argument("--warmup", type=int, default=200)
    parser.add_argument("--tokens", type=int, default=4096, help="tokens a step")
    parser.add_argument("--context", type=int, default=256)
    parser.add_argument("--rate", type=float, default=4e-3)
    parser.add_argument("--vocab", type=int, default=1024)
    parser.add_argument("--dim", type=int, default=96)
    parser.add_argument("--hidden", type=int, default=288)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--heads", type=int, default=6)
    parser.add_argument("--kv-heads", type=int, default=2)
    args = parser.parse_args()

    torch.set_num_threads(args.threads)
    torch.set_flush_denormal(True)
    torch.manual_seed(args.seed)
    rng = random.Random(args.seed)
    chapters = read_chapters(args.text_command)
    earlier = torch.load(args.resume) if args.resume else None
    vocabulary = earlier["vocabulary"] if earlier else build_vocabulary(chapters, args.vocab)
    encoder = Encoder(vocabulary)
    held = Samples(chapters[40::97], encoder, args.context)
    train = Samples([c for i, c in enumerate(chapters) if i % 97 != 40], encoder, args.context)
    characters = sum(len(v) + 1 for c in chapters for v in c)
    per_token = characters / (len(train.stream) + len(held.stream))
    shape = {"vocab": args.vocab, "dim": args.dim, "hidden": args.hidden, "layers": args.layers,
             "heads": args.heads, "kv_heads": args.kv_heads, "context": args.context}
    lengths = lengths_of(args.plan)
    if max(lengths) > args.context or args.tokens < args.context:
        raise SystemExit("train.py: a length of the plan is above the context or the tokens a step")
    model = Model(shape)
    facts = {"arguments": vars(args)}
    if earlier:
        model.load_state_dict(earlier["weights"])
        facts["resumed"] = earlier["facts"]
    count = sum(p.numel() for p in model.parameters())
    print(f"{len(chapters)} chapters, {len(train.stream)} training tokens, "
          f"{per_token:.2f} characters a token, {count} parameters", flush=True)

    matrices = [p for p in model.parameters() if p.dim() == 2]
    gains = [p for p in model.parameters() if p.dim() < 2]
    optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": 0.1},
                                   {"params": gains, "weight_decay": 0.0}],
                                  lr=args.rate, betas=(0.9, 0.95), eps=1e-9)
    facts["parameters"] = count
    began = saved = time.time()
    smooth = None
    for step, length in enumerate(lengths[:args.stop]):
        warm = min(1.0, (step + 1) / args.warmup)
        cosine = 0.5 * (1 + math.cos(math.pi * step / len(lengths)))
        rate = args.rate * warm * (0.01 + 0.99 * cosine)
        for group in optimizer.param_groups:
            group["lr"] = rate
        loss = loss_of(model, train.batch(args.tokens // length, length, rng))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        smooth = loss.item() if smooth is None else 0.98 * smooth + 0.02 * loss.item()
        if step % 50 == 49:
            print(f"step {step + 1} loss {smooth:.4f} rate {rate:.2e} "
                  f"{time.time() - began:.0f} s", flush=True)
        if time.time() - saved > 180:
            facts.update(step=step + 1, train_loss=smooth, held_out=held_out_loss(model, held))
            print(f"checkpoint: held-out loss {facts['held_out']:.4f}", flush=True)
            save(args.out, model, vocabulary, facts)
            saved = time.time()
    before = held_out_loss(model, held)
    if args.stop is None:
        round_to_bf16(model)
    after = held_out_loss(model, held)
    facts.update(step=step + 1, train_loss=smooth, held_out=after, held_out_float32=before,
                 seconds=time.time() - began)
    save(args.out, model, vocabulary, facts)
    print(f"held-out loss {before:.4f}, after rounding to bf16 {after:.4f}, "
          f"{after / per_token / math.log(2):.3f} bits a character")
    print(json.dumps(facts))


if __name__ == "__main__":
    main()
