"""Smaller screenshots: pages have few colours, so a palette of 256 colours reduces a PNG to a third of its size."""

import struct
import zlib
from collections import Counter
from collections.abc import Iterator

SIGNATURE = b"\x89PNG\r\n\x1a\n"


def with_palette(picture: bytes) -> bytes:
    """Convert an 8-bit RGB or RGBA PNG, as a browser writes it, to a palette of its 256 most common colours. Other colours become the nearest of them."""
    chunks = dict(_chunks(picture))
    width, height, depth, kind = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    size = {2: 3, 6: 4}[kind]
    assert depth == 8
    lines = [
        [line[at : at + 3] for at in range(0, len(line), size)]
        for line in _lines(zlib.decompress(chunks[b"IDAT"]), width * size, size)
    ]
    palette = [colour for colour, _ in Counter(colour for line in lines for colour in line).most_common(256)]
    index = {colour: at for at, colour in enumerate(palette)}
    for colour in {colour for line in lines for colour in line} - set(palette):
        index[colour] = min(
            range(len(palette)), key=lambda at: sum((a - b) ** 2 for a, b in zip(palette[at], colour, strict=True))
        )
    body = b"".join(b"\0" + bytes(index[colour] for colour in line) for line in lines)
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    made = ((b"IHDR", header), (b"PLTE", b"".join(palette)), (b"IDAT", zlib.compress(body, 9)), (b"IEND", b""))
    return SIGNATURE + b"".join(_chunk(name, data) for name, data in made)


def _chunks(picture: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The chunks of a PNG. All image data is returned as one chunk."""
    at, pixels = len(SIGNATURE), b""
    while at < len(picture):
        [length] = struct.unpack(">I", picture[at : at + 4])
        name, data = picture[at + 4 : at + 8], picture[at + 8 : at + 8 + length]
        pixels += data if name == b"IDAT" else b""
        yield name, pixels if name == b"IDAT" else data
        at += 12 + length


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def _lines(raw: bytes, length: int, size: int) -> Iterator[bytes]:
    """The bytes of each line, with its filter removed."""
    above = bytearray(length)
    for begin in range(0, len(raw), length + 1):
        kind, line = raw[begin], bytearray(raw[begin + 1 : begin + 1 + length])
        for at in range(length) if kind else ():
            left, corner = (line[at - size], above[at - size]) if at >= size else (0, 0)
            match kind:
                case 1:
                    guess = left
                case 2:
                    guess = above[at]
                case 3:
                    guess = (left + above[at]) // 2
                case _:
                    guess = _paeth(left, above[at], corner)
            line[at] = (line[at] + guess) & 255
        yield bytes(line)
        above = line


def _paeth(left: int, above: int, corner: int) -> int:
    expected = left + above - corner
    return min((left, above, corner), key=lambda one: abs(expected - one))
