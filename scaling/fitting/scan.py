"""Starts of a search: the best linear parameters of a law at each point of a grid of its nonlinear ones (variable
projection: Golub and Pereyra 1973)."""

import numpy as np

from .problem import Problem

__all__ = ["promising", "scan"]

_SWEEPS = 4  # over the linear parameters, once one has met its bound
_MOST_OF_TWO, _MOST_OF_MORE = 96, 32  # points of a scan over a grid of two directions, and of more
_LEAST_SPREAD = 1e-3  # of a rate y near 0 or 1: its share of binomial spread is not 0


@np.errstate(all="ignore")  # where a power over- or underflows there is no start
def scan(problem: Problem, num_starts: int, grid: np.ndarray | None = None) -> np.ndarray:
    """Starts for `polish`: the best local minima along a grid, shape (batch, at most num_starts, num_params).

    The linear parameters are those that minimise the weighted squares of y - f, relative to y for a log objective.
    """
    theta, squares = _best_linear(problem, grid)
    squares = np.where(np.isfinite(squares) & np.all(np.isfinite(theta), axis=-1), squares, np.inf)
    if num_starts > 1:
        cells = problem.law.cells
        is_start = _is_best_of_cell(squares, cells) if cells else _is_local_minimum(squares)
        squares = np.where(is_start, squares, np.inf)
    keys = squares.reshape(len(squares), -1)
    num_found = int(np.max(np.sum(np.isfinite(keys), axis=1)))
    best = np.argsort(keys, axis=1, kind="stable")[:, : max(min(num_starts, num_found), 1)]
    return np.take_along_axis(theta.reshape(*keys.shape, -1), best[..., None], axis=1)


def _is_best_of_cell(squares: np.ndarray, cells: tuple[int, ...]) -> np.ndarray:
    """Lowest over the axes of the grid (all but the first) that are not cells."""
    others = tuple(axis for axis in range(1, squares.ndim) if axis - 1 not in cells)
    return squares == np.min(squares, axis=others, keepdims=True)


def _is_local_minimum(squares: np.ndarray) -> np.ndarray:
    """No neighbour along any axis of the grid (all axes but the first) is lower; of equal neighbours the first."""
    found = np.isfinite(squares)
    for axis in range(1, squares.ndim):
        at = np.moveaxis(squares, axis, 0)
        is_lowest = np.moveaxis(found, axis, 0)
        is_lowest[:-1] &= at[:-1] <= at[1:]
        is_lowest[1:] &= at[1:] < at[:-1]
    return found


def _best_linear(problem: Problem, grid: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Parameters (batch, ..., num_params) at a grid (..., q), the law's own unless given, and their squares."""
    law = problem.law
    nonlinear = _clip(grid_of(problem) if grid is None else grid, problem, law.nonlinear)
    shape = nonlinear.shape[:-1]
    flat = nonlinear.reshape(int(np.prod(shape)), nonlinear.shape[-1])
    x, target, weights = _points(problem)
    assert law.basis is not None
    basis = law.basis(flat, x)
    linear, squares = _bounded_least_squares(basis, target, weights, _limits(problem, law.linear))
    theta = _assemble(problem, linear, np.broadcast_to(flat, (*linear.shape[:-1], flat.shape[-1])))
    return theta.reshape(len(weights), *shape, -1), squares.reshape(len(weights), *shape)


def grid_of(problem: Problem) -> np.ndarray:
    """Values (..., q) of the nonlinear parameters worth trying on the problem's x."""
    assert problem.law.grid is not None
    return problem.law.grid(problem.x)


def promising(problem: Problem, num: int) -> np.ndarray:
    """The `num` points (num, q) of the law's grid at which it fits best, of a problem of one."""
    grid = grid_of(problem)
    with np.errstate(all="ignore"):
        squares = _best_linear(problem, grid)[1][0]
    best = np.argsort(np.where(np.isfinite(squares), squares, np.inf), axis=None)[:num]
    return grid.reshape(int(np.prod(grid.shape[:-1])), grid.shape[-1])[best]


def _points(problem: Problem) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """x, target (batch, n) and weights (batch, n) of least squares; an even choice of the points of a large grid."""
    y = problem.y if problem.y.ndim == 2 else problem.y[None]
    scale = problem.residual_scale
    if problem.objective.log:
        scale = scale * y
    elif problem.objective.is_binomial:
        scale = scale * np.sqrt(np.maximum(y * (1 - y), _LEAST_SPREAD))
    target = y if problem.law.link is None else problem.law.link.forward(y)
    weights = problem.weights / scale**2
    directions = len(problem.law.nonlinear)
    most = _MOST_OF_TWO if directions == 2 else _MOST_OF_MORE
    if directions < 2 or len(problem.x) <= most:
        return problem.x, target, weights
    order = np.argsort(problem.x if problem.x.ndim == 1 else problem.x[:, 0], kind="stable")
    chosen = order[np.linspace(0, len(order) - 1, most).round().astype(int)]
    return problem.x[chosen], target[..., chosen], weights[..., chosen]


def _bounded_least_squares(
    basis: np.ndarray, y: np.ndarray, weights: np.ndarray, limits: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Minimise weights (y - l @ basis)^2 within limits (k, 2): l (batch, g, k) and the squares (batch, g)."""
    num, k, _ = basis.shape
    pairs = [(i, j) for i in range(k) for j in range(i, k)]
    products = [basis[:, i] * basis[:, j] for i, j in pairs]
    moments = (np.concatenate(products) @ weights.T).T.reshape(len(weights), -1, num)
    gram = np.empty((len(weights), num, k, k))
    for place, (i, j) in enumerate(pairs):
        gram[..., i, j] = gram[..., j, i] = moments[:, place]
    pull = ((weights * y) @ basis.reshape(num * k, -1).T).reshape(-1, num, k)
    free = _solve(gram, pull)
    linear = np.clip(free, limits[:, 0], limits[:, 1])
    for _ in range(_SWEEPS if k > 1 and np.any(linear != free) else 0):
        for i in range(k):
            rest = pull[..., i] - np.sum(gram[..., i] * linear, axis=-1) + gram[..., i, i] * linear[..., i]
            linear[..., i] = np.clip(rest / gram[..., i, i], *limits[i])
    total = np.sum(weights * y * y, axis=-1)[:, None]
    fitted = np.sum(linear * ((gram @ linear[..., None])[..., 0] - 2 * pull), axis=-1)
    return linear, total + fitted


def _solve(gram: np.ndarray, pull: np.ndarray) -> np.ndarray:
    """gram^-1 pull, each scaled to a diagonal of ones; a singular one gives something finite."""
    scale = 1 / np.sqrt(np.einsum("bgkk->bgk", gram))
    scaled = gram * scale[..., :, None] * scale[..., None, :] + 1e-14 * np.eye(gram.shape[-1])
    scaled = np.where(np.isfinite(scaled), scaled, np.eye(gram.shape[-1]))
    return np.linalg.solve(scaled, (pull * scale)[..., None])[..., 0] * scale


def _limits(problem: Problem, places: tuple[int | None, ...]) -> np.ndarray:
    """Bounds (k, 2) of some of the parameters; a derived one is positive."""
    lower, upper = np.atleast_2d(problem.lower).min(axis=0), np.atleast_2d(problem.upper).max(axis=0)
    return np.array([(0.0, np.inf) if i is None else (lower[i], upper[i]) for i in places]).reshape(-1, 2)


def _clip(grid: np.ndarray, problem: Problem, places: tuple[int | None, ...]) -> np.ndarray:
    limits = _limits(problem, places)
    limits[[place is None for place in places], 0] = -np.inf
    return np.clip(grid, limits[:, 0], limits[:, 1])


def _assemble(problem: Problem, linear: np.ndarray, nonlinear: np.ndarray) -> np.ndarray:
    law = problem.law
    if law.assemble is not None:
        return law.assemble(linear, nonlinear)
    theta = np.empty((*linear.shape[:-1], len(law.params)))
    columns = np.moveaxis(np.concatenate([linear, nonlinear], axis=-1), -1, 0)
    for place, column in zip((*law.linear, *law.nonlinear), columns, strict=True):
        assert place is not None
        theta[..., place] = column
    return theta
