"""Nested fan-outs: categories, their products, and the variants of each product.

Prints:

    8 variants priced
    0 price_all
    1 price_category price_category
    2 price_product price_product price_product price_product
    3 price_variant price_variant price_variant price_variant price_variant price_variant price_variant price_variant
"""

import asyncio

from plait import Plait, fail_fast, threshold, values

app = Plait()


@app.job
async def price_variant(_product: str, size: str) -> int:
    return {"small": 1, "large": 2}[size]


@app.job
async def price_product(product: str) -> int:
    return len(values(await price_variant.map([(product, "small"), (product, "large")], fail_fast())))


@app.job
async def price_category(category: str) -> int:
    return sum(values(await price_product.map([f"{category} 1", f"{category} 2"], threshold(0.9))))


@app.job
async def price_all(categories: list[str]) -> int:
    return sum(values(await price_category.map(categories)))


async def main() -> None:
    handle = await price_all.enqueue(["hats", "shoes"])
    print(await handle.result(timeout="1m"), "variants priced")
    tree = await handle.tree()
    for depth in range(4):
        print(depth, *(node.definition for node in tree if node.depth == depth))


if __name__ == "__main__":
    asyncio.run(main())
