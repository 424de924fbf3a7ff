"""The tables of the docs that are made from the code: identities, operators, every public name with its docstring."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from typing import Any

import linkwise as lw
from linkwise import control
from linkwise.algebra.motion import MotionLeaves
from linkwise.algebra.operators import LETTERS, OPERATOR_NAMES
from linkwise.algebra.vectors import VectorLeaves
from linkwise.codegen.pipeline import PASSES
from linkwise.codegen.runtime.kernel import Kernel
from linkwise.codegen.sources.c import CSource
from linkwise.robot.closed import ClosedRobot
from linkwise.symbols.elementwise import ENTRIES
from linkwise.symbols.functions import AS_NUMPY_DOES, FUNCTIONS
from rooms import room_table, rooms_within_table

# --- the papers' identities ------------------------------------------------------------------------------


def identity_table(paper: str) -> str:
    """The identities a paper prints: equation, formula, name, what it needs."""
    rows = ["| where | identity | rule | holds for |", "|---|---|---|---|"]
    for r in lw.identities():
        cites = [c.removeprefix(f"{paper} ") for c in r.cites if c.startswith(f"{paper} ")]
        if cites:
            rows.append(f"| {'; '.join(cites)} | `{r.formula}` | `{r.name}` | {_needs(r)} |")
    return "\n".join(rows) + "\n"


def _needs(rule: lw.Rule) -> str:
    words = {"serial chain": "chains", "no rotors": "no rotors", "one-dof joints": "one-dof joints"}
    needs = [words.get(x, x) for x in sorted(rule.requires) if x != "velocities"]
    return ", ".join(needs) or "every robot"


# --- operators -------------------------------------------------------------------------------------------


def leaf_table(kind: str) -> str:
    """The operators of a robot: its own ("still"), those that also need velocities ("moving"), or its vectors."""
    robot = lw.chain(2)
    x = [0.1, 0.2]
    op = robot.operators(x, v=x, a=x)
    rows = ["| name | prints as | takes → gives | structure | what it is |", "|---|---|---|---|---|"]
    if kind == "vectors":
        rows = ["| name | prints as | space | what it is |", "|---|---|---|---|"]
    for name in OPERATOR_NAMES:
        of = "vectors" if name in vars(VectorLeaves) else "moving" if hasattr(MotionLeaves, name) else "still"
        if name.partition("_")[0] == "I" or of != kind:
            continue
        leaf, getter = getattr(op, name), getattr(type(op), name)
        spaces = f"{leaf.cols.kind} → {leaf.rows.kind}"
        shown = {full: letter for letter, full in LETTERS.items()}.get(name, name)
        where = leaf.rows.kind if kind == "vectors" else f"{spaces} | {leaf.structure}"
        rows.append(f"| `op.{shown}` | {plain(str(leaf))} | {where} | {said(getter)} |")
    return "\n".join(rows) + "\n"


# --- names, calls and what they say of themselves --------------------------------------------------------


def said(member: object, whole: bool = False) -> str:
    """The first paragraph of a docstring, or all of it, as one cell of a table."""
    function = getattr(member, "func", None) or getattr(member, "fget", None) or member
    text = inspect.getdoc(function) or UNSAID.get(getattr(function, "__name__", ""), "")
    paragraphs = [" ".join(p.split()) for p in text.split("\n\n")]
    return "<br>".join(plain(_without_notes(p)) for p in (paragraphs if whole else paragraphs[:1]))


def _without_notes(paragraph: str) -> str:
    """Without references to the notes, and with code as Markdown has it."""
    paragraph = re.sub(r"[;,]? ?\(?math notes [\w., ]*\d\)?", "", paragraph)
    return re.sub(r":\w+:`~?([^`]+)`", r"`\1`", paragraph).replace("``", "`")


def plain(text: str) -> str:
    """Text in which stars are stars, and bars do not end a cell."""
    parts = text.replace("|", r"\|").split("`")
    return "`".join(p if i % 2 else p.replace("*", r"\*") for i, p in enumerate(parts))


def call(prefix: str, name: str, member: object) -> str:
    """How a member is called: with its arguments and their defaults, or as a plain name."""
    if isinstance(member, (classmethod, staticmethod)):
        member = member.__func__
    if not (inspect.isfunction(member) or inspect.isclass(member)):
        return f"{prefix}.{name}"
    shown = []
    for p in inspect.signature(member).parameters.values():
        if p.name in ("self", "cls") or p.kind is p.VAR_KEYWORD:
            continue
        if p.name == "target" and hasattr(member, "__wrapped__"):
            continue  # said once, above the table
        argument = f"*{p.name}" if p.kind is p.VAR_POSITIONAL else p.name
        shown.append(argument if p.default is p.empty else f"{argument}={_default(p.default)}")
    return f"{prefix}.{name}({', '.join(shown)})"


def _default(value: Any) -> str:
    """A default that reads well; objects made for the purpose are "…"."""
    if inspect.isclass(value):
        return value.__name__
    if isinstance(value, (int, float, str, tuple, bool)) or value is None:
        return repr(value)
    return "…"


def method_table() -> str:
    """Every public method and property of a robot, in the order of the source, under its headings."""
    return _methods_of(lw.Robot.__mro__[:-1])


def closed_table() -> str:
    """The methods of a robot with loops that are not those of its tree."""
    return _methods_of([cls for cls in ClosedRobot.__mro__ if cls not in lw.Robot.__mro__])


def grasp_table() -> str:
    """The methods of a grasp that other robots with loops do not have."""
    return _methods_of([lw.Grasp], "team")


def _methods_of(classes: Iterable[type], prefix: str = "robot") -> str:
    rows: list[str] = []
    seen: set[str] = set()
    for cls in classes:
        for heading, names in _sections(cls):
            own = [n for n in names if not n.startswith("_") and n not in seen]
            seen.update(own)
            if own:
                rows += ["", f"### {heading[0].upper()}{heading[1:]}", "", "| call | what it gives |", "|---|---|"]
                members = {n: inspect.getattr_static(cls, n) for n in own}
                rows += [f"| `{call(prefix, n, m)}` | {said(m, whole=True)} |" for n, m in members.items()]
    return "\n".join(rows[1:]) + "\n"


def _sections(cls: type) -> list[tuple[str, list[str]]]:
    """The names defined in a class body, under its ``# --- heading ---`` comments."""
    found: list[tuple[str, list[str]]] = [("what it is", [])]
    for line in inspect.getsource(cls).splitlines():
        if heading := re.match(r"    # --- (.+?) -+$", line):
            found.append((heading[1], []))
        elif defined := re.match(r"    def (\w+)\(", line):
            found[-1][1].append(defined[1])
    return found


def name_table() -> str:
    """Every public name of the package."""
    rows = ["| name | what it is |", "|---|---|"]
    for n in lw.__all__:
        if n not in METHOD_TABLES:
            member = getattr(lw, n)
            shown = f"lw.{n}" if _is_error(member) or n in GIVEN else call("lw", n, member)
            rows.append(f"| `{shown}` | {said(member, whole=inspect.isfunction(member)) or '–'} |")
    rows += [f"| `lw.{n}` | {what} by name: {', '.join(getattr(lw, n))} |" for n, what in METHOD_TABLES.items()]
    return "\n".join(rows) + "\n"


def _is_error(member: object) -> bool:
    return inspect.isclass(member) and issubclass(member, BaseException)


def module_table(name: str) -> str:
    """The public names of a module of the package, such as ``plots``."""
    module = getattr(lw, name)
    rows = ["| name | what it is |", "|---|---|"]
    rows += [f"| `{call(f'lw.{name}', n, getattr(module, n))}` | {said(getattr(module, n))} |" for n in module.__all__]
    return "\n".join(rows) + "\n"


def control_table() -> str:
    """Every public name of linkwise.control, with the methods of its classes below it."""
    rows = ["| name | what it is |", "|---|---|"]
    for name in control.__all__:
        member = getattr(control, name)
        rows.append(f"| `{call('control', name, member)}` | {said(member)} |")
        rows += [f"| `{call('', n, m)}` | {said(m)} |" for n, m in _own_members(member)]
    return "\n".join(rows) + "\n"


def member_table(name: str) -> str:
    """The public members of a class that is documented by itself."""
    prefix, cls = CLASSES[name]
    rows = ["| call | what it gives |", "|---|---|"]
    rows += [f"| `{call(prefix, n, m)}` | {said(m, whole=True)} |" for n, m in _own_members(cls)]
    return "\n".join(rows) + "\n"


def _own_members(cls: object) -> list[tuple[str, object]]:
    """The public methods and properties that a class defines itself."""
    if not inspect.isclass(cls):
        return []
    return [(n, m) for n, m in vars(cls).items() if not n.startswith("_") and n not in HIDDEN and _is_member(m)]


def _is_member(x: object) -> bool:
    is_cached = hasattr(x, "func") and hasattr(x, "attrname")
    return is_cached or inspect.isfunction(x) or isinstance(x, (property, classmethod, staticmethod))


METHOD_TABLES = {
    "FORWARD_METHODS": "the forward-dynamics methods",
    "INVERSE_LINEARIZATIONS": "the ways to linearise inverse dynamics",
    "FORWARD_LINEARIZATIONS": "the ways to linearise forward dynamics",
}

CLASSES: dict[str, tuple[str, type]] = {
    "kernel": ("kernel", Kernel),
    "source": ("source", CSource),
    "trajectory": ("trajectory", lw.Trajectory),
}

GIVEN = {
    "Crossing",
    "EnergyAccount",
    "Grasp",
    "IdentityReport",
    "Operator",
    "Proof",
    "Robot",
    "Rule",
    "Trajectory",
}  # never made by hand
HIDDEN = {"remembered", "run", "code", "signature", "quick_before", "takes"}  # of kernels, for linkwise itself

UNSAID = {  # what members without a docstring are
    "body_index": "the index of every body, by name",
    "joint_index": "the index of every joint, by name",
    "children": "the indices of every body's children",
    "q_slices": "where every joint's numbers are in q",
    "v_slices": "where every joint's numbers are in v",
    "cost": "the cost at the end",
    "iterations": "how many iterations it took",
    "operations": "exact operation counts for one call",
    "prototype": "the declaration of the function",
    "header": "the text of NAME.h",
    "source": "the text of NAME.c",
}


def traced_table() -> str:
    """The functions of NumPy that can be traced."""
    of_arrays = sorted(AS_NUMPY_DOES | FUNCTIONS.keys())
    rows = {
        "single numbers, and their `reduce`, `accumulate` and `outer`": sorted(f"np.{name}" for name in ENTRIES),
        "arrays": [name for name in of_arrays if "linalg" not in name],
        "linear algebra": [name for name in of_arrays if "linalg" in name],
    }
    lines = [f"| {what} | {', '.join(f'`{x}`' for x in names)} |" for what, names in rows.items()]
    return "\n".join(["| functions of | |", "|---|---|", *lines]) + "\n"


def pass_table() -> str:
    """The compiler's passes in order."""
    rows = [f"| {p.name} | {p.about} |" for p in PASSES]
    return "\n".join(["| pass | what it does |", "|---|---|", *rows]) + "\n"


TABLES: dict[str, Callable[..., str]] = {
    "closed": closed_table,
    "grasp": grasp_table,
    "control": control_table,
    "leaves": leaf_table,
    "identities": identity_table,
    "members": member_table,
    "methods": method_table,
    "names": name_table,
    "passes": pass_table,
    "module": module_table,
    "rooms": room_table,
    "rooms_within": rooms_within_table,
    "traced": traced_table,
}
