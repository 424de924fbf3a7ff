"""The operators of a robot at a state: what :meth:`Robot.operators` gives."""

from __future__ import annotations

from collections.abc import Callable
from pickle import PicklingError
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import inputs
from ..arguments import one_of
from ..arrays import Array
from ..errors import InputError, SpaceError, did_you_mean
from ..model.model import Model
from ..properties import cached_property
from ..values import owned
from .binding import Binding, Blocks, State, merged, moved, placed, rooted, settled
from .blocks import checked_blocks
from .expression import Expression
from .leaves import Leaves, remembered
from .nodes import Nodes
from .operator import Operator, bound
from .spaces import Space

_IDENTITIES = ("I", "I_joints", "I_tips", "I_edges", "I_inertial")
LETTERS = {"a": "coriolis", "b": "gyroscopic"}  # the papers' letters, where a state has its own of that name


class Operators:
    """The leaf operators of a robot at a configuration q (..., nq); see :meth:`Robot.operators`.

    Spaces: ``bodies`` (6 per body, body axes at its joint), ``joints`` (nv), ``tips`` (6 per frame, world
    axes at its origin), ``edges`` (6 per edge, in the parent's frame), ``base`` (6, at the world's origin) and
    ``inertial`` (6 per body, all of them there). Bodies that move as one node (:attr:`nodes`) have one block of each
    together; vectors are in the order of bodies and joints all the same.
    """

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Operator: ...

    def __init__(self, leaves: Leaves, binding: Binding) -> None:
        self.leaves, self.binding = leaves, binding

    def __reduce__(self) -> Any:
        if not self.leaves.is_default:
            raise PicklingError("operators of an inertia of your own do not pickle: pickle what with_inertia was given")
        return (_again, (self.binding,))

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(name)
            near = did_you_mean(name, OPERATOR_NAMES)
            raise AttributeError(f"no operator is named {name!r}{'; ' + near if near else ''}", name=name, obj=self)

    # --- what they are of --------------------------------------------------------------------------

    @property
    def state(self) -> State:
        """The state these are the operators of."""
        found = self.binding.things[self.leaves.place]
        assert isinstance(found, State)
        return found

    @property
    def model(self) -> Model:
        return self.leaves.model

    @property
    def q(self) -> Array:
        return self.state.q

    @property
    def v(self) -> Array | None:
        return self.state.v

    @property
    def frames(self) -> tuple[Any, ...]:
        return self.leaves.frames

    @property
    def nodes(self) -> Nodes | None:
        """Which bodies move as one node, and which rates are theirs, where joints are coupled or loops embedded."""
        return self.leaves.nodes

    @property
    def bodies(self) -> Space:
        return rooted(self.leaves.bodies, self.binding)

    @property
    def joints(self) -> Space:
        return rooted(self.leaves.joints, self.binding)

    @property
    def tips(self) -> Space:
        return rooted(self.leaves.tips, self.binding)

    @property
    def edges(self) -> Space:
        return rooted(self.leaves.edges, self.binding)

    @property
    def base(self) -> Space:
        return rooted(self.leaves.base, self.binding)

    @property
    def inertial(self) -> Space:
        return rooted(self.leaves.inertial, self.binding)

    @property
    def links(self) -> Any:
        """φ(p, k), H(k), M(k), … of every body, in numbers."""
        return self.state.numbers.links

    # --- operators ---------------------------------------------------------------------------------

    def leaf(self, name: str) -> Operator:
        """An operator by its name, such as "phi" or "tau_bar"."""
        leaves, binding = self.leaves, self.binding
        key = ("leaf", leaves.family_key, name)
        found = leaves.memory.get(key)
        if found is None:
            make = lambda: bound(getattr(leaves, name), binding).expression
            found = remembered(leaves, key, make)
        return Operator(found, binding)

    def with_inertia(self, X: Operator, rotor_inertia: Operator | None = None) -> Operators:
        """The same robot and configuration with a block-diagonal X in place of M: its own P, D, K, ψ, …

        ``rotor_inertia`` adds a joint-space block diagonal to D, as a rotor's reflected inertia does.
        """
        given = [x for x in (X, rotor_inertia) if x is not None]
        binding = merged([self.binding, *(x.binding for x in given)])
        inertia, *noise = (moved(x.expression, x.binding, binding) for x in given)
        own = Operators(self._leaves_in(binding).with_inertia(inertia, *noise), binding)
        own.D.numbers  # noqa: B018  an X that is not symmetric is refused here
        return own

    def lyapunov(self, X: Operator) -> Operator:
        """The block diagonal S with S(k) = Σ φ(k,j) S(j) φ*(k,j) + X(k), so that φXφ* = φS + Sφ̃* (LD (A.1))."""
        return self.recursion(X, "φφ")

    def recursion(self, X: Operator, kind: str, letter: str | None = None) -> Operator:
        """A block diagonal driven by X across other edges, as identities (A.2)–(A.5) of LD need it.

        ``kind`` is one of :data:`linkwise.algebra.recursions.KINDS`; ``letter`` is what it prints as.
        """
        if letter is not None:
            _check_name(letter)
        binding = merged([self.binding, X.binding])
        driver = moved(X.expression, X.binding, binding)
        return bound(self._leaves_in(binding).recursion(driver, kind, letter), binding)

    def _leaves_in(self, binding: Binding) -> Leaves:
        """These leaves with their state at its place in another binding, where an older state may stand first."""
        place = binding.things.index(self.state)
        if place == self.leaves.place and binding.things[: len(self.binding.things)] == self.binding.things:
            return self.leaves
        home = placed(self.leaves.root, place)
        if self.leaves.is_default:
            return home
        inertia, noise = self.leaves.M, self.leaves.joint_noise
        X, Gamma = (None if x is None else moved(x, self.binding, binding) for x in (inertia, noise))
        assert X is not None
        return home.with_inertia(X, Gamma, home.rotor_coupling if self.leaves.has_coupling else None)

    def block_diagonal(self, blocks: Any, space: str = "bodies", name: str = "X") -> Operator:
        """A block-diagonal operator of the user's own on a space.

        It is one of "bodies", "joints", "tips", "edges" and "inertial". ``blocks`` is one square matrix per block, each
        (..., r, r), or one array (..., blocks, r, r). ``name``, a word that means nothing yet, is how it prints.
        """
        _check_name(name)
        one_of(space, ("bodies", "joints", "tips", "edges", "inertial"), "space", error=InputError)
        checked = Blocks(checked_blocks(blocks, getattr(self.leaves, space)))
        return bound(self.state.leaves.own_blocks(1, space, name), Binding((self.state, checked)))

    def vector(self, x: Any, space: str | Space = "joints", name: str = "x") -> Operator:
        """A vector of the user's own as a term of formulas, x (..., n).

        It is on "joints", "bodies", "tips", "edges", "base" or "inertial" of this robot, or on any other space, such
        as one of :func:`linkwise.space`. ``name``, a word that means nothing yet, is how it prints.
        """
        _check_name(name)
        where = self._space(space)
        given = inputs.as_array(x, "the vector")
        if given.ndim < 1 or given.shape[-1] != where.dimension:
            raise SpaceError(f"a vector of {where} has shape (..., {where.dimension}), got {tuple(given.shape)}")
        held = Blocks(where.split(owned(given)[..., None]))
        return self._own(lambda home, place, space: home.own_vector(place, space, name), held, where)

    def matrix(self, A: Any, rows: str | Space, columns: str | Space, name: str = "A") -> Operator:
        """A matrix of the user's own as an operator of formulas, A (..., m, n), from the space ``columns`` to ``rows``.

        They are "joints", "bodies", "tips" or "edges" of this robot, or spaces of another, as ``other.tips``, or
        those of :func:`linkwise.space` and stacks: so robots meet in one formula. ``name``, a word that means nothing
        yet, is how it prints.
        """
        _check_name(name)
        spaces = self._space(rows), self._space(columns)
        given = inputs.as_array(A, "the matrix")
        shape = tuple(s.dimension for s in spaces)
        if given.ndim < 2 or tuple(given.shape[-2:]) != shape:
            wanted = ", ".join(map(str, shape))
            raise SpaceError(
                f"a matrix from {spaces[1]} to {spaces[0]} has shape (..., {wanted}), got {tuple(given.shape)}"
            )
        held = Blocks([owned(given)])
        return self._own(lambda home, place, *where: home.own_matrix(place, *where, name), held, *spaces)

    def any_vector(self, name: str, space: str = "joints") -> Operator:
        """A vector of which nothing is known but its name, for proofs: random numbers, the same for the same name."""
        where = self._space(space)
        drawn = np.random.default_rng(list(name.encode())).normal(size=where.dimension)
        return self.vector(drawn, space, name)

    def _space(self, space: str | Space) -> Space:
        if isinstance(space, Space):
            return space
        one_of(space, ("joints", "bodies", "tips", "edges", "base", "inertial"), "space", error=InputError)
        found: Space = getattr(self, space)
        return found

    def _own(self, make: Callable[..., Expression], numbers: Blocks, *where: Space) -> Operator:
        """What the user gave, at this state and those whose spaces it is on: made by leaves, a place and the spaces."""
        states = [self.state, *(x.state for space in where for x in space.leaves if x.state is not None)]
        things = sorted({id(t): t for t in states}.values(), key=lambda t: t.serial)
        binding = Binding((*things, numbers))
        home = placed(self.state.leaves, things.index(self.state))
        return bound(make(home, len(things), *(settled(x, binding, self.state) for x in where)), binding)


def _check_name(name: str) -> None:
    from .formula import checked_name

    checked_name(name)


def _again(binding: Binding) -> Operators:
    return Operators(binding.leaves, binding)


def _operator(name: str, words: str | None) -> Any:
    def get(self: Operators) -> Operator:
        return self.leaf(name)

    get.__name__, get.__doc__, get.__annotations__ = name, words, {"return": "Operator"}
    return property(get, doc=words)


def _names_of_leaves() -> dict[str, str | None]:
    """Every operator of :class:`Leaves` by its name, with its docstring."""
    found: dict[str, str | None] = dict.fromkeys(_IDENTITIES, "The identity of that space.")
    for cls in Leaves.__mro__:
        for name, member in vars(cls).items():
            getter = member.func if isinstance(member, cached_property) else getattr(member, "fget", None)
            if not name.startswith("_") and getter is not None and getter.__annotations__.get("return") == "Expression":
                found.setdefault(name, getter.__doc__)
    return found


OPERATOR_NAMES = tuple(_names_of_leaves())

for _name, _words in _names_of_leaves().items():
    setattr(Operators, _name, _operator(_name, _words))
for _letter, _name in LETTERS.items():
    setattr(Operators, _letter, getattr(Operators, _name))
