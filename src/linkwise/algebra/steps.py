"""From reductions to steps that a person can follow: one for every rule, lemmas named, each checked on robots."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from .completion import Adjoint, Displaced, Overlap, Rewrite, Use
from .expression import Expression
from .kinds import Leaf
from .leaves import Leaves
from .printing import starred
from .proof import DISTRIBUTIVITY, OWN_ADJOINT, Lemma, Step
from .rate import Unfolding
from .rules import MOTION, Rule, identities
from .theory import Law, Theory, law
from .trials import Trial
from .words import ALPHABET, Polynomial, add, scaled, within

Reduction = list[tuple[Rewrite | None, Polynomial]]  # the rule (None: multiplied out) and the polynomial after it


class Writer:
    """Writes the steps of one proof."""

    def __init__(self, theory: Theory, trials: list[Trial], tolerance: float, known: dict[Any, Rule]) -> None:
        self.theory, self.trials, self.tolerance, self.known = theory, trials, tolerance, known
        self.laws: dict[int, Rule | Law] = {}  # by the rewrite
        self.kept: list[Rewrite] = []
        self.lemmas = 0

    # --- the chain from one side to the other -------------------------------------------------------

    def chain(self, left: Expression, right: Expression) -> tuple[Step, ...]:
        """lhs = … = rhs, through the first form that both sides reach."""
        polynomial = self.theory.dictionary.polynomial
        first, last = polynomial(left), polynomial(right)
        common = {w: c for w, c in first.items() if last.get(w) == c}
        down, up = (self._reduction(p, common) for p in (first, last))
        i, j = _meeting(down, up)
        steps = self._steps(left, down[: i + 1])
        back = self._steps(right, up[: j + 1])
        steps += [self.reversed(s) for s in reversed(back)]
        return tuple(steps)

    def reversed(self, step: Step) -> Step:
        """The same equality read from right to left."""
        return self._step(step.rule, step.expression, step.before, backwards=True)

    def differentiated(self, start: Expression, unfolding: list[Unfolding]) -> tuple[Step, ...]:
        """The derivatives of an expression worked out, a step for every rule of differentiation."""
        out, here = [], start
        for u in unfolding:
            out.append(self._step(law(u.name, (u.cites,), u.rate, u.found), here, u.whole))
            here = u.whole
        return tuple(out)

    def _reduction(self, p: Polynomial, common: Polynomial) -> Reduction:
        """The polynomials on the way to the canonical form; the words that both sides have stay as they are."""
        system = self.theory.system
        p = dict(p)
        add(p, common, -1)
        out: Reduction = []

        def note(rewrite: Rewrite | None) -> None:
            whole = dict(p)
            add(whole, common)
            out.append((rewrite, whole))

        note(None)
        while True:
            uses = {w: use for w in p if (use := system.find(w)) is not None}
            if not uses:
                return out
            rewrite = uses[ALPHABET.leading(dict.fromkeys(uses, 1))].rewrite.root
            while chosen := [u for u in uses.values() if u.rewrite.root is rewrite]:
                for use in chosen:
                    if use.word in p:
                        use.apply(p)
                uses = {w: use for w in p if (use := system.find(w)) is not None}
            note(rewrite)

    def _steps(self, start: Expression, reduction: Reduction) -> list[Step]:
        out: list[Step] = []
        here = start
        for rewrite, p in reduction:
            after = self.theory.printed(p, start)
            if after.key == here.key:
                continue
            rule = DISTRIBUTIVITY if rewrite is None else self.law(rewrite)
            out.append(self._step(rule, here, after))
            here = after
        return out

    def _step(self, rule: Rule | Law, before: Expression, after: Expression, backwards: bool = False) -> Step:
        worst = self.difference(before, after)
        return Step(rule, before, after, backwards and rule is not DISTRIBUTIVITY, worst <= self.tolerance, worst)

    def difference(self, before: Expression, after: Expression) -> float:
        """The largest difference of the two on the random robots, relative to their terms."""
        p, q = (self.theory.dictionary.polynomial(x) for x in (before, after))
        gap = dict(p)
        add(gap, q, -1)
        return max(trial.difference(gap, (p, q)) for trial in self.trials)

    def as_number(self, steps: tuple[Step, ...], start: Expression) -> tuple[Step, ...]:
        """Steps from a number on, and then that it is its own adjoint."""
        x = steps[-1].expression if steps else start
        half = 0.5 * (x + x.T)
        return steps if half.key == x.key else (*steps, self._step(OWN_ADJOINT, x, half))

    # --- lemmas --------------------------------------------------------------------------------------

    def law(self, rewrite: Rewrite) -> Rule | Law:
        """What a rewrite rests on: an axiom, or a lemma with its own derivation."""
        found = self.laws.get(id(rewrite))
        if found is None:
            found = self.laws[id(rewrite)] = self._law(rewrite)
            self.kept.append(rewrite)  # so that its id stays its own
        return found

    def _law(self, rewrite: Rewrite) -> Rule | Law:
        source = rewrite.source
        if not rewrite.uses and isinstance(source, (Adjoint, Displaced)):
            return self.law(source.of)
        if not rewrite.uses and isinstance(source, (Rule, Law)):
            return source
        turned = self._reads_better_turned(rewrite)
        lhs, rhs = self._sides(rewrite, turned)
        steps = self._derivation(rewrite, lhs - rhs, turned)
        known = self.known.get(_form(rewrite.relation)) or self.known.get(_form(ALPHABET.adjoint(rewrite.relation)))
        if known is not None and known.name != getattr(source, "name", None):
            return self._lemma(known.name, known.cites, lhs, rhs, steps)
        if isinstance(source, (Rule, Law)):
            return self._lemma(f"{source.name} written out", source.cites, lhs, rhs, steps)
        self.lemmas += 1
        return self._lemma(f"lemma {self.lemmas}", (), lhs, rhs, steps)

    def _lemma(self, name: str, cites: tuple[str, ...], lhs: Expression, rhs: Expression, steps: list[Step]) -> Lemma:
        made = law(name, cites, lhs, rhs)
        return Lemma(name, cites, made.formula, made.latex, tuple(steps))

    def _reads_better_turned(self, rewrite: Rewrite) -> bool:
        """Whether the leading word has more adjoints than not, so that its adjoint is what people write."""
        leaves = [self.theory.dictionary.leaves[x] for x in rewrite.lead]
        turning = [isinstance(x, Leaf) and starred(x) for x in leaves if x.T.key != x.key]
        return 2 * sum(turning) > len(turning)

    def _sides(self, rewrite: Rewrite, turned: bool) -> tuple[Expression, Expression]:
        leaves = self.theory.dictionary.leaves
        lead = self.theory.dictionary.word(rewrite.lead, leaves[rewrite.lead[0]].rows)
        rest = self.theory.printed(rewrite.rest, lead)
        return (lead.T, rest.T) if turned else (lead, rest)

    def _derivation(self, rewrite: Rewrite, like: Expression, turned: bool) -> list[Step]:
        """From 0, by what the source says, to a multiple of lead − rest."""
        source = rewrite.source
        stages: list[tuple[Rule | Law, Polynomial]] = []
        if isinstance(source, Overlap):
            tail, head = source.word[len(source.first.lead) :], source.word[: source.at]
            first = within((), source.first.rest, tail)
            add(first, {source.word: 1}, -1)
            stages.append((self.law(source.first), first))
            second = dict(first)
            add(second, {source.word: 1})
            add(second, within(head, source.second.rest, ()), -1)
            stages.append((self.law(source.second), second))
        elif isinstance(source, (Adjoint, Displaced)):
            stages.append((self.law(source.of), rewrite.given))
        else:
            stages.append((source, rewrite.given))
        stages += self._replayed(rewrite.given, rewrite.uses)
        out, here = [], self.theory.printed({}, like)
        for rule, p in stages:
            after = self.theory.printed(ALPHABET.adjoint(p) if turned else p, like)
            out.append(self._step(rule, here, after))
            here = after
        return out

    def _replayed(self, p: Polynomial, uses: list[Use]) -> list[tuple[Rule | Law, Polynomial]]:
        """The polynomials after each run of uses of one rewrite."""
        out: list[tuple[Rule | Law, Polynomial]] = []
        p = dict(p)
        for i, use in enumerate(uses):
            use.apply(p)
            if i + 1 == len(uses) or uses[i + 1].rewrite.root is not use.rewrite.root:
                out.append((self.law(use.rewrite), dict(p)))
        return out


def _meeting(down: Reduction, up: Reduction) -> tuple[int, int]:
    """Where both ways first have the same polynomial."""
    seen: dict[Any, int] = {}
    for j, (_, p) in enumerate(up):
        seen.setdefault(frozenset(p.items()), j)
    found = [(i + seen[key], i, seen[key]) for i, (_, p) in enumerate(down) if (key := frozenset(p.items())) in seen]
    _, i, j = min(found)
    return i, j


# --- names for lemmas ----------------------------------------------------------------------------------


def known_lemmas(theory: Theory, leaves: Leaves, besides: str = "") -> dict[Any, Rule]:
    """The papers' identities by their relation, with definitions written out, for lemmas that are one of them."""
    definitions = {r.lead[0]: r for r in theory.system.all() if len(r.lead) == 1}
    key = frozenset(definitions)
    found = leaves.memory.get(("known lemmas", key))
    if found is None:
        found = {}
        for rule in identities():
            if rule.free or MOTION in rule.requires or not rule.admits(leaves):
                continue
            lhs, rhs = rule.expressions(leaves)
            relation = _written_out(theory.dictionary.polynomial(lhs - rhs), definitions)
            if relation:
                found.setdefault(_form(relation), rule)
        leaves.memory["known lemmas", key] = found
    return {form: rule for form, rule in found.items() if rule.name != besides}


def _written_out(p: Polynomial, definitions: dict[int, Rewrite]) -> Polynomial:
    todo, done = dict(p), Polynomial()
    while todo:
        word, c = todo.popitem()
        at = next((i for i, x in enumerate(word) if x in definitions), None)
        if at is None:
            add(done, {word: c})
        else:
            add(todo, within(word[:at], definitions[word[at]].rest, word[at + 1 :]), c)
    return done


def _form(relation: Polynomial) -> Any:
    """A relation up to a factor."""
    return frozenset(scaled(relation, 1 / Fraction(relation[ALPHABET.leading(relation)])).items())
