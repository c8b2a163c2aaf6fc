import numpy as np
import pytest

from halfreal.kernels.givens import forget, rotate_in, solve


def recursive(rows: np.ndarray, right: np.ndarray, mu: float, beta: float) -> np.ndarray:
    """Solutions (m, n) after all rows, each of weight 1 when it came."""
    n, m = rows.shape[1], right.shape[1]
    r, z, x = np.sqrt(beta) * np.eye(n), np.zeros((m, n)), np.zeros((m, n))
    for row, values in zip(rows, right, strict=True):
        forget(r, z, np.sqrt(mu))
        rotate_in(r, z, row.copy(), values.copy(), 0)
    solve(r, z, x)
    return x


def direct(rows: np.ndarray, right: np.ndarray, mu: float, beta: float) -> np.ndarray:
    """The same weighted problem at once, by numpy."""
    count, n = rows.shape
    weight = mu ** (0.5 * np.arange(count)[::-1, None])
    prior = np.sqrt(beta * mu**count) * np.eye(n)
    a = np.vstack([weight * rows, prior])
    b = np.vstack([weight * right, np.zeros((n, right.shape[1]))])
    return np.linalg.lstsq(a, b, rcond=None)[0].T


@pytest.mark.parametrize(("n", "m"), [(2, 1), (4, 2), (12, 3), (36, 2)])
def test_recursive_solution_is_the_weighted_least_squares_solution(n, m):
    rng = np.random.default_rng(n)
    rows, right = rng.normal(size=(5 * n, n)), rng.normal(size=(5 * n, m))
    expected = direct(rows, right, 0.98, 1e-3)
    np.testing.assert_allclose(
        recursive(rows, right, 0.98, 1e-3), expected, rtol=0, atol=1e-12 * np.abs(expected).max()
    )


def test_digits_that_normal_equations_lose_are_kept():
    """Columns that differ by 1e-7: the normal equations square the condition and are left with none."""
    rng = np.random.default_rng(0)
    rows = np.repeat(rng.normal(size=(50, 1)), 2, axis=1)
    rows[:, 1] += 1e-7 * rng.normal(size=50)
    true = np.array([[2.0, -1.0]])
    right = rows @ true.T
    assert np.abs(recursive(rows, right, 1.0, 1e-30) - true).max() < 1e-7
    assert np.abs(np.linalg.solve(rows.T @ rows, rows.T @ right).T - true).max() > 1e-4


def test_row_that_begins_with_zeros_may_skip_them():
    rng = np.random.default_rng(1)
    r, z = np.triu(rng.normal(size=(4, 4))), rng.normal(size=(2, 4))
    other_r, other_z = r.copy(), z.copy()
    row, right = np.array([0.0, 0.0, 0.7, -0.2]), np.array([0.3, 0.4])
    rotate_in(r, z, row.copy(), right.copy(), 0)
    rotate_in(other_r, other_z, row.copy(), right.copy(), 2)
    np.testing.assert_array_equal(r, other_r)
    np.testing.assert_array_equal(z, other_z)


def test_unknown_without_any_data_is_zero():
    r, z, x = np.zeros((3, 3)), np.zeros((1, 3)), np.full((1, 3), 7.0)
    rotate_in(r, z, np.array([2.0, 0.0, 0.0]), np.array([6.0]), 0)
    solve(r, z, x)
    np.testing.assert_array_equal(x, [[3.0, 0.0, 0.0]])
