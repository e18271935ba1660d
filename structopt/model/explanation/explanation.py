"""What explanations have in common: they are texts, data, and pages."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from html import escape
from typing import Any, Literal

from structopt.formats import html_pages

Form = Literal["text", "json", "html"]
FORMS: tuple[Form, ...] = ("text", "json", "html")


class Explanation(ABC):
    """Shown as a text by `print`, as a page by notebooks.

    Attributes
    ----------
    title : str
    remarks : list of str
        What a reader should know.
    """

    title: str
    remarks: list[str]

    @abstractmethod
    def text(self) -> str:
        """Tables for a terminal."""

    @abstractmethod
    def data(self) -> dict[str, Any]:
        """Everything, as JSON values."""

    @abstractmethod
    def body(self) -> Iterator[str]:
        """Pieces of HTML, below the title."""

    def written(self, form: Form) -> str:
        """As text, JSON or a page of HTML that needs no other file; each ends with a line break."""
        writers = {"text": self.__str__, "json": self.json, "html": self.html}
        return writers[form]().rstrip("\n") + "\n"

    def json(self) -> str:
        """`data` as JSON."""
        return json.dumps(self.data(), ensure_ascii=False, indent=1)

    def html(self) -> str:
        """A page that needs no other file."""
        return html_pages.page(
            self.title, [*self.body(), *(f"<p>{escape(remark)}</p>" for remark in self.remarks)]
        )

    def __str__(self) -> str:
        """The tables, and the remarks below them."""
        return "\n".join(
            [self.title, "", self.text(), *(["", *self.remarks] if self.remarks else [])]
        )

    def _repr_html_(self) -> str:
        """As a notebook shows it, in a frame of its own, so that styles do not mix."""
        return (
            f'<iframe srcdoc="{escape(self.html())}" style="width: 100%; height: 32rem; border: 0" '
            f'title="{escape(self.title)}"></iframe>'
        )


def signed(number: float) -> str:
    """A number with its sign and four digits behind the point."""
    return f"{number:+.4f}"
