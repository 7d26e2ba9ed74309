#!/usr/bin/env python3
"""Measures fast-plaid on a corpus that `likbench plaid bench clustered --save DIR` kept.

    fastplaid.py DIR/20k-nb2 --bits 2 [--device cuda] [--threads N]

Builds an index with fast-plaid's defaults and the given bits, searches one query at a time and all as one batch, first
ten, wall clock. Both tools' results are held against float MaxSim over all documents, computed here in float32: pass
likbench's by their files hits-*.npy in the folder. Needs fast-plaid and its torch; likbench itself needs neither.
"""
import argparse
import glob
import os
import tempfile
import time

import numpy as np
import torch


def median(times):
    return float(np.median(times)) * 1e3


def truth(docs, offsets, queries, device, k=10, block=2000):
    """The k best documents of each query by float32 MaxSim."""
    torch.backends.cuda.matmul.allow_tf32 = False
    lengths = torch.from_numpy(np.diff(offsets))
    scores = []
    for lo in range(0, len(lengths), block):
        part = lengths[lo:lo + block]
        rows = torch.from_numpy(docs[offsets[lo]:offsets[min(lo + block, len(lengths))]]).to(device)
        which = torch.repeat_interleave(torch.arange(len(part)), part).to(device)
        out = []
        for q in queries:
            s = rows @ q.to(device).T
            best = torch.full((len(part), s.shape[1]), -torch.inf, device=device)
            best.scatter_reduce_(0, which[:, None].expand_as(s), s, "amax")
            out.append(best.sum(1))
        scores.append(torch.stack(out))
    return torch.cat(scores, 1).topk(k, 1).indices.cpu().numpy()


def recall(ids, want):
    return float(np.mean([len(set(a) & set(b)) / len(b) for a, b in zip(ids, want)]))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("folder")
    p.add_argument("--bits", type=int, default=2)
    p.add_argument("--device", default="cuda")
    p.add_argument("--threads", type=int, default=0)
    p.add_argument("--limit", type=int, default=0, help="time only the first queries one by one")
    a = p.parse_args()
    if a.threads:
        torch.set_num_threads(a.threads)
    import fast_plaid
    from fast_plaid import search as fp

    load = lambda name: np.load(os.path.join(a.folder, name + ".npy"))
    docs, offsets, q, qo = load("documents"), load("document_offsets"), load("queries"), load("query_offsets")
    queries = [torch.from_numpy(q[qo[i]:qo[i + 1]]) for i in range(len(qo) - 1)]
    want = truth(docs, offsets, queries, a.device)
    for f in sorted(glob.glob(os.path.join(a.folder, "hits-*.npy"))):
        print(f"{os.path.basename(f)[5:-4]}: recall@10 of float MaxSim {recall(np.load(f), want):.4f}", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        index = fp.FastPlaid(index=os.path.join(folder, "index"), device=a.device)
        start = time.perf_counter()
        index.create(documents_embeddings=[torch.from_numpy(docs[offsets[i]:offsets[i + 1]]) for i in range(len(offsets) - 1)],
                     nbits=a.bits, seed=42)
        print(f"fast-plaid {getattr(fast_plaid, '__version__', '')}, torch {torch.__version__}: built in {time.perf_counter() - start:.2f} s", flush=True)

        def search(batch):
            start = time.perf_counter()
            r = index.search(queries_embeddings=batch, top_k=10, show_progress=False)
            return time.perf_counter() - start, r

        for i in range(5):
            search(torch.stack(queries[i:i + 1]))
        singles = [search(torch.stack(queries[i:i + 1])) for i in range(a.limit or len(queries))]
        times = [t for t, _ in singles]
        ids = [[h[0] for h in r[0]] for _, r in singles]
        print(f"single query: p50 {median(times):.3f} ms, p95 {np.percentile(times, 95) * 1e3:.3f}, recall@10 of float MaxSim {recall(ids, want):.4f}", flush=True)
        batch = torch.stack(queries)
        search(batch)
        t = [search(batch)[0] for _ in range(5)]
        print(f"{len(queries)} queries: {median(t):.2f} ms, {len(queries) / np.median(t):.0f} queries/s")


if __name__ == "__main__":
    main()
