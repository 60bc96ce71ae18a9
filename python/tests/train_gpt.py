"""Trains a small GPT and one of twice the layers, data-parallel over gloo, in turns, each under lumos.profiler.
usage: torchrun --nproc-per-node 2 train_gpt.py FOLDER ROUNDS   writes FOLDER/{once,twice}-ROUND/"""

import os
import sys

import lumos
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

LAYERS, HIDDEN, HEADS, VOCABULARY, SEQUENCE, BATCH = 4, 192, 4, 1024, 128, 4


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(HIDDEN), nn.LayerNorm(HIDDEN)
        self.qkv, self.out = nn.Linear(HIDDEN, 3 * HIDDEN), nn.Linear(HIDDEN, HIDDEN)
        self.up, self.down = nn.Linear(HIDDEN, 4 * HIDDEN), nn.Linear(4 * HIDDEN, HIDDEN)

    def forward(self, x):
        batch, tokens, hidden = x.shape
        q, k, v = (part.view(batch, tokens, HEADS, -1).transpose(1, 2)
                   for part in self.qkv(self.norm_1(x)).split(hidden, -1))
        attention = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attention.transpose(1, 2).reshape(batch, tokens, hidden))
        return x + self.down(F.gelu(self.up(self.norm_2(x))))


class Gpt(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.embedding, self.position = nn.Embedding(VOCABULARY, HIDDEN), nn.Embedding(SEQUENCE, HIDDEN)
        self.blocks = nn.ModuleList(Block() for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(HIDDEN), nn.Linear(HIDDEN, VOCABULARY, bias=False)

    def forward(self, tokens):
        x = self.embedding(tokens) + self.position(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Training:
    def __init__(self, layers):
        self.layers = layers
        self.model = DistributedDataParallel(Gpt(layers), bucket_cap_mb=4)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), 1e-3)

    def step(self):
        tokens = torch.randint(0, VOCABULARY, (BATCH, SEQUENCE + 1))
        logits = self.model(tokens[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()

    def profile(self, folder):
        settings = dict(num_layers=self.layers, hidden_size=HIDDEN, num_attention_heads=HEADS, seq_length=SEQUENCE,
                        vocab_size=VOCABULARY, micro_batch_size=BATCH, global_batch_size=BATCH * dist.get_world_size(),
                        params_dtype="fp32")
        with lumos.profiler.profile(folder, wait=2, warmup=1, steps=4, **settings) as profiler:
            for _ in range(7):
                self.step()
                profiler.step()


def main():
    folder, rounds = sys.argv[1], int(sys.argv[2])
    torch.set_num_threads(1)
    torch.manual_seed(0)
    dist.init_process_group("gloo")
    once, twice = Training(LAYERS), Training(2 * LAYERS)
    for number in range(rounds):
        # In turns, so that what else the machine does meets both alike.
        once.profile(os.path.join(folder, f"once-{number}"))
        twice.profile(os.path.join(folder, f"twice-{number}"))
    dist.destroy_process_group()


main()
