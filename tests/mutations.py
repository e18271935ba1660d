"""Mutations of files: bytes and lines that are changed, dropped, doubled and swapped, and words
that readers trip over.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

HOSTILE = [
    b"",
    b"nan",
    b"inf",
    b"-inf",
    b"1e999",
    b"1e-400",
    b"1_000",
    b"+1",
    b"01",
    b"0x10",
    b"-1",
    b"-0",
    b"1.5",
    b"1,5",
    b"1.",
    b"99999999999",
    b"9223372036854775808",
    b"18446744073709551616",
    b"1" * 5000,
    b"1" * 5000 + b".0",
    b"-" * 4000,
    b"1e" + b"9" * 5000,
    b"0",
    b"2",
    b"3",
    "\u0661\u0662".encode(),
    "\u00b2".encode(),
    "\uff11".encode(),
    "\u2028".encode(),
    "\x85".encode(),
    "\u00a0".encode(),
    "\ufeff".encode(),
    b"\xed\xa0\x80",
    b"\xff\xfe",
    b"\xc3",
    b"\x80",
    b"\0",
    b"\x1b[31m",
    b"\x7f",
    b"\x1f\x8b",
    b"\r",
    b"\r\n",
    b"\n",
    b"\n\n",
    b"\t",
    b"\t\t",
    b" ",
    b"\x0b",
    b"\x0c",
    b"\x1c",
    b":",
    b"::",
    b":1",
    b"1:",
    b"1:1",
    b"1:nan",
    b"1:1e101",
    b"0:0",
    b"qid:1",
    b",",
    b",,",
    b"\\",
    b"\\\\",
    b"\\:",
    b"'",
    b'"',
    b"'" * 301,
    b'"' * 301,
    b"{",
    b"}",
    b"{}",
    b"{0 1}",
    b"{0,1}",
    b"{" * 300,
    b"}" * 300,
    b"[",
    b"]",
    b"(",
    b")",
    b"(" * 3000,
    b"[" * 3000,
    b"%",
    b"#",
    b"?",
    b"_",
    b"|",
    b"||",
    b"_|_",
    b"B-|O",
    b"-",
    b"--",
    b"B-",
    b"I-",
    b"-X",
    b"S-PER",
    b"E-",
    b"O",
    b"O-",
    b"-DOCSTART-",
    b"@weight:2",
    b"@data",
    b"@attribute",
    b"@attribute x {",
    b"@attribute 'x numeric",
    b"@relation",
    b"@attribute " + b"'" * 999,
    b"@attribute x " + b"{" * 999,
    b"@attribute " + b"x " * 999,
    b"numeric",
    b"string",
    b"date",
    b"1-2",
    b"2-1",
    b"1.1",
    b"0.1",
    b"1-1",
    b"<",
    b">",
    b"&",
    b"&a;",
    b"</labels>",
    b"<label/>",
    b"<label name=''/>",
    b"<![CDATA[",
    b"<?xml?>",
    b"<?xml ",
    b"<!DOCTYPE a [<!ENTITY b 'bbbbbbbb'><!ENTITY c '&b;&b;&b;&b;'>]>",
    b"=",
    b"true",
    b"null",
    b"~",
    b"&x",
    b"*x",
    b"!!python/object:os.x",
    b"a" * 5000,
    b"word[-2..2]",
    b"word[",
    b"word[999999999999]",
    b"word[-999..999]",
    b"prefix(word, 1..99999)",
    b"prefix(",
    b"lower(" * 500,
    b"h.",
    b"between.form[1]",
    b"\x00\x00\x00\x00",
    b"\xff\xff\xff\xff",
    b"\x7f\xff\xff\xff",
    b"PK\x03\x04",
    b"PK\x01\x02",
    b"PK\x05\x06",
    b"<i8",
    b"|O",
    b"<m8[s]",
    b"(1000000000000,)",
    b"(-1,)",
    b"(4611686018427387904, 4)",
]
"""Words and bytes that have a meaning in some format, or are no number where one is due."""

Mutation = Callable[[bytes, Random], bytes]


def mutated(data: bytes, random: Random) -> bytes:
    """A file after one to four mutations, most of them single ones."""
    for _ in range(random.choice((1, 1, 1, 2, 3, 4))):
        data = random.choice(MUTATIONS)(data, random)
    return data


def _flip(data: bytes, random: Random) -> bytes:
    place = random.randrange(len(data) + 1)
    return data[:place] + bytes([random.randrange(256)]) + data[place + 1 :]


def _flip_bit(data: bytes, random: Random) -> bytes:
    place = random.randrange(len(data) + 1)
    return (
        data[:place]
        + bytes(byte ^ 1 << random.randrange(8) for byte in data[place : place + 1])
        + data[place + 1 :]
    )


def _cut(data: bytes, random: Random) -> bytes:
    return data[: random.randrange(len(data) + 1)]


def _delete(data: bytes, random: Random) -> bytes:
    first = random.randrange(len(data) + 1)
    return data[:first] + data[first + random.choice((1, 1, 2, 5, 20, 100)) :]


def _double(data: bytes, random: Random) -> bytes:
    first = random.randrange(len(data) + 1)
    return data[: first + random.choice((1, 2, 5, 20, 100))] + data[first:]


def _insert(data: bytes, random: Random) -> bytes:
    place = random.randrange(len(data) + 1)
    return data[:place] + random.choice(HOSTILE) * random.choice((1, 1, 1, 2, 9)) + data[place:]


def _insert_bytes(data: bytes, random: Random) -> bytes:
    place = random.randrange(len(data) + 1)
    return data[:place] + random.randbytes(random.randrange(1, 9)) + data[place:]


def _replace_word(data: bytes, random: Random) -> bytes:
    """Put a hostile word in the place of a word, between the bytes that part words in these
    formats.
    """
    place = random.randrange(len(data) + 1)
    return (
        data[: _word_start(data, place)] + random.choice(HOSTILE) + data[_word_end(data, place) :]
    )


def _word_start(data: bytes, place: int) -> int:
    while place and data[place - 1] not in b" \t\n,:{}<>\"'|-.":
        place -= 1
    return place


def _word_end(data: bytes, place: int) -> int:
    while place < len(data) and data[place] not in b" \t\n,:{}<>\"'|-.":
        place += 1
    return place


def _lines(change: Callable[[list[bytes], Random], None]) -> Mutation:
    def mutation(data: bytes, random: Random) -> bytes:
        lines = data.split(b"\n")
        change(lines, random)
        return b"\n".join(lines)

    return mutation


def _swap(lines: list[bytes], random: Random) -> None:
    i, j = random.randrange(len(lines)), random.randrange(len(lines))
    lines[i], lines[j] = lines[j], lines[i]


def _drop(lines: list[bytes], random: Random) -> None:
    first = random.randrange(len(lines))
    del lines[first : first + random.choice((1, 1, 3))]


def _repeat(lines: list[bytes], random: Random) -> None:
    lines.insert(random.randrange(len(lines) + 1), random.choice(lines))


def _blank(lines: list[bytes], random: Random) -> None:
    lines[random.randrange(len(lines))] = random.choice(HOSTILE)


def _join(lines: list[bytes], random: Random) -> None:
    place = random.randrange(len(lines))
    lines[place : place + 2] = [b" ".join(lines[place : place + 2])]


def _carriage(data: bytes, random: Random) -> bytes:
    return data.replace(b"\n", random.choice((b"\r\n", b"\r", b"\n\r", b"\0", b"\x0c", b" ")))


def _recode(data: bytes, random: Random) -> bytes:
    return data.decode("latin-1").encode(
        random.choice(("utf-16", "utf-16-le", "utf-32", "utf-8-sig"))
    )


def _blow_up(data: bytes, random: Random) -> bytes:
    """Repeat a short stretch many times: what is quadratic in a line or a file is slow on it."""
    first = random.randrange(len(data) + 1)
    stretch = data[first : first + random.choice((1, 1, 2, 8, 30))]
    return data[:first] + stretch * (20_000 // (len(stretch) or 1)) + data[first:]


MUTATIONS: tuple[Mutation, ...] = (
    _flip,
    _flip,
    _flip_bit,
    _flip_bit,
    _cut,
    _delete,
    _delete,
    _double,
    _insert,
    _insert,
    _insert,
    _insert_bytes,
    _replace_word,
    _replace_word,
    _replace_word,
    _lines(_swap),
    _lines(_drop),
    _lines(_repeat),
    _lines(_blank),
    _lines(_join),
    _carriage,
    _recode,
    _blow_up,
)
