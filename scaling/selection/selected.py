"""What a law fitted to selected points has, be it a frontier's or a hull's."""

from __future__ import annotations

from ..errors import FitWarning
from ..fitting.fit import Fit
from ..intervals.draws import BootstrapFit
from ..notebook_view import NotebookView

__all__ = ["SelectedFit"]


class SelectedFit(NotebookView):
    """Parameters, warnings and intervals of a fit and its draws."""

    fit: Fit
    bootstrap: BootstrapFit
    intervals: str

    @property
    def params(self) -> dict[str, float]:
        """Of the law, by name, in the user's units."""
        return self.fit.params

    @property
    def warnings(self) -> tuple[FitWarning, ...]:
        """What a reader must know, of the fit, of its draws and of the selection."""
        return self.fit.warnings + self.bootstrap.warnings + self._own_warnings()

    def _own_warnings(self) -> tuple[FitWarning, ...]:
        raise NotImplementedError

    def interval(self, name: str, level: float = 0.95) -> tuple[float, float]:
        """Interval of a parameter, the choice of the points included.

        Raises:
            ValueError: the law has no such parameter, or the level is outside (0, 1).
        """
        return self.bootstrap.interval(name, level)

    def summary(self, level: float = 0.95) -> str:
        """The fit in words."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.summary()

    def _interval_lines(self, level: float) -> list[str]:
        """An interval for each parameter, and whether the fitted value lies outside."""
        lines = zip(self.params.items(), self.bootstrap.interval_lines(level), strict=True)
        return [line + self._outside(value, *self.interval(name, level)) for (name, value), line in lines]

    def _outside(self, value: float, low: float, high: float) -> str:
        if low <= value <= high:
            return ""
        is_world = self.intervals == "simulated_world"
        why = ": the selection's bias is taken off" if is_world else " that of draws whose selection is their own"
        return f"; the fitted value lies outside{why}"
