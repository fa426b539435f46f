"""The generator written a second time, in Python, from its definition: prints the vectors of `vectors.json`.

    python3 rust/bench/tests/vectors.py > rust/bench/tests/vectors.json
"""

import hashlib
import json
import math
from collections import Counter

MASK = (1 << 64) - 1
STEP = 0x9E3779B97F4A7C15


def mix(z):
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return z ^ (z >> 31)


class Draws:
    def __init__(self, state):
        self.state = state

    def next(self):
        self.state = (self.state + STEP) & MASK
        return mix(self.state)

    def unit(self):
        return (self.next() >> 11) / (1 << 53)


def zipf(u, n, q):
    return min(n - 1, math.floor(q * math.exp(u * math.log((n + q) / q)) - q))


def rows(transfers, first, count):
    accounts = max(transfers // 8, 16)
    ids = list(range(accounts))
    draws = Draws(7)
    for place in range(accounts - 1, 0, -1):
        other = draws.next() % (place + 1)
        ids[place], ids[other] = ids[other], ids[place]

    chunk = first // 1_000_000
    draws = Draws(1000 + chunk * 77_777)
    for _ in range((first - chunk * 1_000_000) * 8):
        draws.next()
    blocks = Counter()
    # Rows of the first block that are before the first row asked for.
    before = first - 1
    start = first * 315 // 100 // 12
    while before >= 0 and before * 315 // 100 // 12 == start:
        blocks[start] += 1
        before -= 1
    for row in range(first, first + count):
        sender = zipf(draws.unit(), accounts, 2)
        favourite = draws.unit() < 0.5
        u = draws.unit()
        if favourite:
            choice = zipf(u, 2000, 4)
            word = mix(mix(sender) ^ ((choice * STEP + 13) & MASK))
            u = (word >> 11) / (1 << 53)
        receiver = zipf(u, accounts, 2)
        token = zipf(draws.unit(), 200, 1)
        block = row * 315 // 100 // 12
        index = blocks[block]
        blocks[block] += 1
        log = index * 300 + draws.next() % 300
        radius = math.sqrt(-2 * math.log(1 - draws.unit()))
        z = radius * math.cos(2 * math.pi * draws.unit())
        value = math.exp(5 + 2.5 * z)
        decimals = 6 if token % 3 == 0 else 18
        rounded = draws.unit() < 0.3
        amount = math.ceil(value) * 10**decimals if rounded else int(value * 10.0**decimals)
        word = mix(row ^ 0x68696768)
        high = 1 + (word >> 44) if word % 10_000 == 0 else 0
        yield [ids[sender], ids[receiver], token, 1_672_531_200 + block * 12, index, log, rounded, str(amount), high]


def holders(count):
    draws = Draws(5)
    return [str(math.floor(draws.unit() ** -0.9 * 1e6) * 10**12 + draws.next() % 10**12) for _ in range(count)]


degrees = Counter()
large = []
for place, row in enumerate(rows(1_000_000, 0, 1_000_000)):
    degrees[row[0]] += 1
    degrees[row[1]] += 1
    if row[8]:
        large.append([place, row[8]])
print(
    json.dumps(
        {
            "first_rows": list(rows(1_000_000, 0, 12)),
            "rows_of_chunk_1": list(rows(2_000_000, 1_234_567, 6)),
            "top_degrees": sorted(degrees.values(), reverse=True)[:10],
            "top_account": degrees.most_common(1)[0][0],
            "active": len(degrees),
            "large": large[:5],
            "large_count": len(large),
            "holders": holders(5),
            "address_of_7": hashlib.sha256((7).to_bytes(4, "little")).hexdigest()[:40],
            "token_7": hashlib.sha256(b"token" + (7).to_bytes(4, "little")).hexdigest()[:40],
            "hash_of_row_7": hashlib.sha256((7).to_bytes(8, "little")).hexdigest(),
        },
        indent=1,
    )
)
