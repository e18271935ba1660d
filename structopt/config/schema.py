"""A component's parameters: read from its constructor's signature, or from its source without
importing it.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, Union

from structopt.config.wording import flow_of, ill_typed, type_name, value_name
from structopt.errors import ConfigError, did_you_mean

REQUIRED = inspect.Parameter.empty
INFINITY = {"inf", "+inf", ".inf", "-inf", "-.inf"}


@dataclass(frozen=True)
class Parameter:
    """One keyword of a component's constructor.

    Attributes
    ----------
    name : str
    type : object
        The annotation, resolved; its text when it was read from source.
    default : object
        The default, `REQUIRED` where there is none; its text when it was read from source.
    doc : str
        Its lines in the docstring's section Parameters, as one; where they are "See `MODULE`.",
        those of the module's docstring.
    shown : bool
        Whether the default is text that says it already.
    """

    name: str
    type: Any
    default: Any
    doc: str
    shown: bool = False

    def __str__(self) -> str:
        kind = self.type if isinstance(self.type, str) else type_name(self.type)
        if self.default is REQUIRED:
            return f"{self.name}: {kind}"
        default = (
            self.default if self.shown or isinstance(self.type, str) else value_name(self.default)
        )
        return f"{self.name}: {kind} = {default}"


def of_class(cls: Any) -> dict[str, Parameter]:
    """Return the keyword parameters of a constructor by name, in their order."""
    return dict(_of_class(cls))


@lru_cache(maxsize=256)  # a config is checked against the same classes again and again
def _of_class(cls: Any) -> dict[str, Parameter]:
    if "__init__" not in dir(cls) or cls.__init__ is object.__init__:
        return {}
    hints = typing.get_type_hints(cls.__init__)
    owner = next(base for base in cls.__mro__ if "__init__" in vars(base))
    docs = parameter_docs("\n".join(_docstring(one) for one in (owner, owner.__init__, cls)))
    wanted = [
        p
        for p in inspect.signature(cls).parameters.values()
        if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    ]
    return {
        p.name: Parameter(p.name, hints.get(p.name, Any), _default(cls, p), docs.get(p.name, ""))
        for p in wanted
    }


def _docstring(thing: Any) -> str:
    return inspect.cleandoc(thing.__doc__ or "")


def _default(cls: Any, parameter: inspect.Parameter) -> Any:
    """Give a dataclass's default_factory as the value that it makes."""
    fields = (
        {field.name: field for field in dataclasses.fields(cls)}
        if dataclasses.is_dataclass(cls)
        else {}
    )
    field = fields.get(parameter.name)
    if field is not None and callable(field.default_factory):
        return field.default_factory()
    return parameter.default


def of_source(module: str, name: str) -> list[Parameter] | None:
    """Read the parameters of a class from its module's file, without importing the module.

    Only the module's parent packages are imported. A class without a constructor has that of its
    base, which is looked for where the module imports it from. The answer is None where the source
    does not tell: several bases, or a class defined elsewhere.
    """
    try:
        spec = find_spec(module)
    except ImportError:
        return None
    if spec is None or not spec.has_location or not str(spec.origin).endswith(".py"):
        return None
    tree = ast.parse(Path(str(spec.origin)).read_text(encoding="utf8"))
    cls = next((n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == name), None)
    return None if cls is None else _of_definition(cls, tree, module)


def _of_definition(cls: ast.ClassDef, tree: ast.Module, module: str) -> list[Parameter] | None:
    init = next(
        (n for n in cls.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None
    )
    if init is not None:
        docs = parameter_docs(
            (ast.get_docstring(cls) or "") + "\n" + (ast.get_docstring(init) or "")
        )
        pairs = _arguments(init.args)
        return [
            Parameter(a.arg, _text(a.annotation, "Any"), _text(d, REQUIRED), docs.get(a.arg, ""))
            for a, d in pairs
        ]
    if cls.bases:
        return _of_base(cls, tree, module)
    if not any("dataclass" in ast.unparse(d) for d in cls.decorator_list):
        return []
    docs = parameter_docs(ast.get_docstring(cls) or "")
    fields = [
        n for n in cls.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)
    ]
    return [
        Parameter(
            n.target.id,
            ast.unparse(n.annotation),
            _text(n.value, REQUIRED),
            docs.get(n.target.id, ""),
        )
        for n in fields
        if isinstance(n.target, ast.Name) and not ast.unparse(n.annotation).startswith("ClassVar")
    ]


def _of_base(cls: ast.ClassDef, tree: ast.Module, module: str) -> list[Parameter] | None:
    """Parameters of the one base of a class, where the module defines or imports it by name."""
    base = cls.bases[0]
    if len(cls.bases) > 1 or not isinstance(base, ast.Name):
        return None
    if base.id == "ABC":  # it has no constructor, nor a file to read
        return []
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    places = {name.asname or name.name: node.module for node in imports for name in node.names}
    return of_source(places.get(base.id) or module, base.id)


def _arguments(arguments: ast.arguments) -> list[tuple[ast.arg, ast.expr | None]]:
    """Pair the keyword arguments, without self, with their defaults."""
    missing = [None] * (len(arguments.args) - len(arguments.defaults))
    positional = list(zip(arguments.args, [*missing, *arguments.defaults], strict=False))
    return positional[1:] + list(zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True))


def _text(node: ast.expr | None, otherwise: Any) -> Any:
    return otherwise if node is None else ast.unparse(node).replace("'", '"')


def parameter_docs(docstring: str) -> dict[str, str]:
    """Read the entries of sections ``Parameters``, ``Attributes`` and ``Settings``.

    An entry that begins with "See `NAME`", the full name of a module or class, has the text of the
    entry of the same name there.
    """
    docs: dict[str, str] = {}
    for section in re.findall(
        r"^(?:Parameters|Attributes|Settings)\n-+\n(.*?)(?=\n\n\S|\n\S+\n-{3,}|\Z)",
        docstring,
        re.M | re.S,
    ):
        for names, text in re.findall(
            r"^((?:\w+,\s+)*\w+) *(?::[^\n]*)?\n((?:[ \t]+[^\n]*\n?|\n)*)", section + "\n", re.M
        ):
            entry = " ".join(text.split())
            reference = re.match(r"See `([\w.]+)`[.;] ?", entry)
            shared = parameter_docs(docstring_of(reference[1])) if reference else {}
            rest = entry[reference.end() :] if reference else ""
            for name in re.split(r",\s+", names):
                docs[name] = f"{shared[name]} {rest}".strip() if name in shared else entry
    return docs


@cache
def docstring_of(name: str) -> str:
    """Read the docstring of a module, or of a class of a module, from its file, importing nothing;
    the empty string if there is none.
    """
    package, *names = name.split(".")
    spec = find_spec(package)
    if spec is None or not spec.has_location:
        return ""
    of_class = names.pop() if names and names[-1][0].isupper() else ""
    file = Path(str(spec.origin)).parent.joinpath(*names).with_suffix(".py")
    if not file.is_file():
        return ""
    nodes: list[Any] = [ast.parse(file.read_text(encoding="utf8"))]
    if of_class:
        nodes = [one for one in nodes[0].body if getattr(one, "name", "") == of_class]
    return (ast.get_docstring(nodes[0]) or "") if nodes else ""


def coerce(where: str, value: Any, hint: Any) -> Any:
    """Check a config value against a type: 1 may stand for 1.0, ``"inf"`` for infinity; nothing is
    truncated.

    Raises
    ------
    ConfigError
        With the value's place and text, and what it should be.
    """
    if hint is Any or isinstance(hint, typing.TypeVar):
        return value
    origin, members = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Union, types.UnionType):
        return _coerce_union(where, value, hint)
    if origin is Literal:
        return _coerce_literal(where, value, members)
    if hint is None or hint is type(None):
        return value if value is None else _refuse(where, value, hint)
    if typing.is_typeddict(hint):
        return _coerce_typed_dict(where, value, hint)
    plain = origin or hint
    if plain in _SCALARS:
        return _SCALARS[plain](where, value, hint)
    if isinstance(plain, type) and issubclass(plain, Mapping):
        return _coerce_mapping(where, value, hint, members or (Any, Any))
    if isinstance(plain, type) and issubclass(plain, Sequence):
        return _coerce_sequence(where, value, hint, members or (Any,))
    return value


def _refuse(where: str, value: Any, hint: Any) -> Any:
    raise ConfigError(ill_typed(where, value, hint))


def _coerce_bool(where: str, value: Any, hint: Any) -> Any:
    return value if isinstance(value, bool) else _refuse(where, value, hint)


def _coerce_int(where: str, value: Any, hint: Any) -> Any:
    return (
        value
        if isinstance(value, int) and not isinstance(value, bool)
        else _refuse(where, value, hint)
    )


def _coerce_float(where: str, value: Any, hint: Any) -> Any:
    if isinstance(value, str) and value.lower() in INFINITY:
        return float(value.lower().replace(".", ""))
    number = isinstance(value, int | float) and not isinstance(value, bool) and value == value
    return float(value) if number else _refuse(where, value, hint)


def _coerce_str(where: str, value: Any, hint: Any) -> Any:
    usable = isinstance(value, str | Path) or (
        isinstance(value, int | float) and not isinstance(value, bool)
    )
    return str(value) if usable else _refuse(where, value, hint)


def _coerce_path(where: str, value: Any, hint: Any) -> Any:
    return Path(_coerce_str(where, value, hint))


_SCALARS = {
    bool: _coerce_bool,
    int: _coerce_int,
    float: _coerce_float,
    str: _coerce_str,
    Path: _coerce_path,
}


def _coerce_union(where: str, value: Any, hint: Any) -> Any:
    """Take the first member that fits; str comes last, since every number could be one."""
    members = [member for member in typing.get_args(hint) if member is not type(None)]
    if len(members) == 1 and value is not None:
        return coerce(where, value, members[0])
    for member in sorted(typing.get_args(hint), key=lambda member: member in (str, Path)):
        try:
            return coerce(where, value, member)
        except ConfigError:
            continue
    return _refuse(where, value, hint)


def _coerce_literal(where: str, value: Any, allowed: tuple[Any, ...]) -> Any:
    if any(value == one and isinstance(value, bool) == isinstance(one, bool) for one in allowed):
        return value
    names = [str(one) for one in allowed]
    raise ConfigError(
        f"is none of: {', '.join(names)}.{did_you_mean(str(value), names)}",
        parameter=where,
        value=value,
    )


def _coerce_mapping(where: str, value: Any, hint: Any, types_: tuple[Any, ...]) -> Any:
    entries = flow_of(value) if isinstance(value, str) else value
    if not isinstance(entries, Mapping):
        return _refuse(where, value, hint)
    return {
        coerce(f"{where}.{key}", key, types_[0]): coerce(f"{where}.{key}", one, types_[1])
        for key, one in entries.items()
    }


def _coerce_sequence(where: str, value: Any, hint: Any, types_: tuple[Any, ...]) -> Any:
    entries = flow_of(value) if isinstance(value, str) else value
    if not isinstance(entries, list | tuple):
        return _refuse(where, value, hint)
    items = [coerce(f"{where}[{i}]", one, types_[0]) for i, one in enumerate(entries)]
    return tuple(items) if (typing.get_origin(hint) or hint) is tuple else items


def _coerce_typed_dict(where: str, value: Any, hint: Any) -> Any:
    value = flow_of(value) if isinstance(value, str) and flow_of(value) is not None else value
    if not isinstance(value, Mapping):
        return _refuse(where, value, hint)
    hints = _hints_of(hint)
    inside = f"{where}." if where else ""
    for key in value:
        if key not in hints:
            raise ConfigError(
                f"There is no key '{inside}{key}'.{did_you_mean(str(key), hints)} Keys here: "
                f"{', '.join(hints)}."
            )
    return {key: coerce(f"{inside}{key}", one, hints[key]) for key, one in value.items()}


@cache
def _hints_of(typed_dict: Any) -> dict[str, Any]:
    return typing.get_type_hints(typed_dict)


def plain(value: Any) -> Any:
    """Turn what `coerce` gave into what YAML and JSON can hold."""
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return str(value) if isinstance(value, Path) else value
