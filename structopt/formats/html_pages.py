"""Pages of HTML that need no other file: a title, tables, and bars."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

STYLE = """\
body { font: 15px/1.45 system-ui, sans-serif; color: #1c2430; background: #fff }
body { max-width: 72rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem; margin: 0 0 .3rem } h2 { font-size: 1.1rem; margin: 1.8rem 0 .4rem }
p { margin: .3rem 0; color: #4a5563 }
table { border-collapse: collapse; margin-bottom: .8rem; font-variant-numeric: tabular-nums; font-size: .92rem }
th { text-align: left; color: #6b7685; font-weight: 500; border-bottom: 1px solid #d8dee6; padding: .15rem .9rem .15rem 0 }
td { padding: .12rem .9rem .12rem 0; border-bottom: 1px solid #eef1f5; vertical-align: top }
td.n, th.n { text-align: right; white-space: nowrap }
.pair { display: flex; flex-wrap: wrap; gap: 0 3rem }
.bar { display: inline-block; height: .7rem; border-radius: 2px; vertical-align: baseline }
.up { background: #2f7ed8 } .down { background: #d8632f }
"""


def page(title: str, body: Iterable[str]) -> str:
    """A page of a title and pieces of HTML."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{escape(title)}</title>\n"
        f"<style>\n{STYLE}</style>\n</head>\n<body>\n<h1>{escape(title)}</h1>\n"
        + "\n".join(body)
        + "\n</body>\n</html>\n"
    )


def table(header: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    """A table of cells that are HTML already; the columns in `numbers` stand to the right."""

    def cells(tag: str, row: Sequence[str]) -> str:
        return "".join(
            f'<{tag} class="n">{c}</{tag}>' if k in numbers else f"<{tag}>{c}</{tag}>"
            for k, c in enumerate(row)
        )

    lines = "\n".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return f"<table>\n<tr>{cells('th', [escape(name) for name in header])}</tr>\n{lines}\n</table>"


def bar(amount: float, largest: float, width: int = 120) -> str:
    """A bar as long as an amount, to the scale on which the largest has so many pixels."""
    pixels = round(width * abs(amount) / largest, 1) if largest > 0 else 0
    return f'<span class="bar {"up" if amount >= 0 else "down"}" style="width:{pixels}px"></span>'
