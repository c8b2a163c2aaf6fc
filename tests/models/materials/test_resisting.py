"""Directions of elements by their terms, against the whole directions."""

import numpy as np

from halfreal.models.materials.element_fields import FEWEST, add_along, along, terms

DOFS = 7


def directions() -> np.ndarray:
    """To ground, between two masses that are not next to each other, along all degrees of freedom, and along none."""
    rng = np.random.default_rng(2)
    found = np.zeros((4, DOFS))
    found[0, 3] = 1.0
    found[1, [5, 0]] = -1.0, 1.0
    found[2] = rng.standard_normal(DOFS)
    return found


def test_sums_over_terms_equal_those_over_the_whole_direction_to_the_bit():
    rng = np.random.default_rng(3)
    x, force = rng.standard_normal(DOFS), 3.7
    for b, row in zip(directions(), terms(directions()), strict=True):
        total = 0.0
        for i in range(DOFS):
            total += b[i] * x[i]
        assert along(row, x) == total
        moved = x.copy()
        add_along(row, force, moved)
        np.testing.assert_array_equal(moved, x + b * force)


def test_rows_are_as_wide_as_the_widest_and_hold_two_terms_at_least():
    assert terms(directions()).shape == (4, 1 + 2 * DOFS)
    assert terms(directions()[:1]).shape == (1, 1 + 2 * FEWEST)
    assert terms(np.zeros((0, DOFS))).shape == (0, 1 + 2 * FEWEST)
