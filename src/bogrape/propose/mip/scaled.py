"""Counts divided by a power of the number of nodes, and their squares, as linear terms."""

from __future__ import annotations

from .counting import Coordinate
from .linear import Linear, total
from .paths import Paths
from .program import Program


class Scaled:
    r""":math:`\varphi = C / N^q` and :math:`\varphi^2` of a count, as linear terms.

    Rows, in the order they are added, with z_N = 1 when the graph has N nodes:

    * ``one_count[C,N]``:    sum_c C=c@N = z_N          (one-hot)
    * ``which_count[C]``:    sum_{c,N} c C=c@N = C      (one-hot)
    * ``part[C,N]``:         C@N <= max_N z_N           (several sizes, not one-hot)
    * ``parts[C]``:          sum_N C@N = C              (several sizes, not one-hot)
    """

    def __init__(
        self, program: Program, paths: Paths, coordinate: Coordinate, one_hot: bool
    ) -> None:
        self._program, self._coordinate, self._sizes = program, coordinate, paths.sizes
        self._one_hot, self._split = False, False
        c, sizes, q = coordinate, paths.sizes, coordinate.power
        self.square: Linear | None = None
        if not c.parts:  # decided by the size
            by_size = {n: c.possible[n][0] / n**q for n in sizes}
            self.value = total(by_size[n] * paths.size_is(n) for n in sizes)
            self.square = total(by_size[n] ** 2 * paths.size_is(n) for n in sizes)
        elif one_hot:
            self._one_hot = True
            hot = {
                (n, k): program.binary(f"{c.name}={k}@{n}") for n in sizes for k in c.possible[n]
            }
            for n in sizes:
                one = total(hot[n, k] for k in c.possible[n])
                program.row(f"one_count[{c.name},{n}]", one, "==", paths.size_is(n))
            which = total(k * variable for (_, k), variable in hot.items())
            program.row(f"which_count[{c.name}]", which, "==", c.count)
            self.value = total(k / n**q * variable for (n, k), variable in hot.items())
            self.square = total((k / n**q) ** 2 * variable for (n, k), variable in hot.items())
        elif len(sizes) == 1:
            self.value = c.count * (1.0 / sizes[0] ** q)
        else:
            self._split = True
            part = {}
            for n in sizes:
                top = max(c.possible[n])
                part[n] = program.continuous(f"{c.name}@{n}", 0, top)
                limit = top * paths.size_is(n)
                program.row(f"part[{c.name},{n}]", part[n], "<=", limit)
            program.row(f"parts[{c.name}]", total(part.values()), "==", c.count)
            self.value = total(part[n] * (1.0 / n**q) for n in sizes)
        most = max(max(c.possible[n]) / n**q for n in sizes)
        self.bounds = (min(min(c.possible[n]) / n**q for n in sizes), most)

    def lift(self, size: int, values: dict[str, float]) -> dict[str, float]:
        """The values of all variables, from the value of the count."""
        c = self._coordinate
        if not (self._one_hot or self._split):
            return {}
        count = self._program.evaluate(c.count, values)
        if self._split:
            return {f"{c.name}@{n}": count if n == size else 0.0 for n in self._sizes}
        return {
            f"{c.name}={k}@{n}": float(n == size and k == round(count))
            for n in self._sizes
            for k in c.possible[n]
        }
