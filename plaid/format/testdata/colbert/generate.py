"""Writes a small index in ColBERTv2's layout with torch, and its vectors decoded with plain loops.

The files here were written by torch 1.13.1 (Debian python3-torch) and numpy 1.24.2.
"""
import json
import os
import numpy as np
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "index")
D, B, K = 16, 2, 5
LENGTHS = [[3, 0, 2], [4]]
g = torch.Generator().manual_seed(7)


def save(name, x):
    torch.save(x, os.path.join(OUT, name))


def dump(name, x):
    with open(os.path.join(OUT, name), "w") as f:
        json.dump(x, f)


centroids = torch.nn.functional.normalize(torch.randn(K, D, generator=g), dim=-1).half()
cutoffs = torch.tensor([-0.25, 0.0, 0.25])
weights = torch.tensor([-0.375, -0.125, 0.125, 0.375])
save("centroids.pt", centroids)
save("buckets.pt", (cutoffs, weights))
save("avg_residual.pt", torch.tensor(0.1875))
decoded, owners, offset, first = [], [[] for _ in range(K)], 0, 0
for i, lengths in enumerate(LENGTHS):
    n = sum(lengths)
    codes = torch.randint(0, K, (n,), generator=g, dtype=torch.int32)
    buckets = torch.randint(0, 1 << B, (n, D), generator=g)
    bits = torch.stack([(buckets >> k) & 1 for k in range(B)], -1).reshape(n, -1).numpy().astype(np.uint8)
    save(f"{i}.codes.pt", codes)
    save(f"{i}.residuals.pt", torch.from_numpy(np.packbits(bits).reshape(n, D * B // 8)))
    dump(f"doclens.{i}.json", lengths)
    dump(f"{i}.metadata.json", {"passage_offset": first, "num_passages": len(lengths), "num_embeddings": n, "embedding_offset": offset})
    at = 0
    for j, length in enumerate(lengths):
        for c in codes[at:at + length].tolist():
            if first + j not in owners[c]:
                owners[c].append(first + j)
        at += length
    for c, u in zip(codes.tolist(), buckets.tolist()):
        v = [float(centroids[c][k]) + float(weights[u[k]]) for k in range(D)]
        norm = sum(x * x for x in v) ** .5
        decoded.append([x / norm for x in v])
    offset, first = offset + n, first + len(lengths)
save("ivf.pid.pt", (torch.tensor(sum(owners, []), dtype=torch.int32), torch.tensor([len(o) for o in owners])))
config = {"dim": D, "nbits": B, "doc_maxlen": 220}
dump("plan.json", {"config": config, "num_chunks": 2, "num_partitions": K, "num_embeddings_est": float(offset), "avg_doclen_est": offset / first})
dump("metadata.json", {"config": config, "num_chunks": 2, "num_partitions": K, "num_embeddings": offset, "avg_doclen": offset / first})
np.save(os.path.join(HERE, "decoded.npy"), np.array(decoded))
