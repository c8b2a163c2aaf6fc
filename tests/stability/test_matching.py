"""The short way to an assignment is SciPy's, wherever it is taken."""

from itertools import pairwise

import numpy as np
from scipy.optimize import linear_sum_assignment

from halfreal.stability.frf import branches
from halfreal.stability.matching import assigned, matched


def test_pairs_are_those_of_the_assignment_problem():
    chance = np.random.default_rng(7)
    short = 0
    for rows, columns in [(1, 1), (1, 5), (3, 3), (4, 6), (6, 4), (0, 3)] * 60:
        cost = np.abs(chance.normal(size=(rows, 1)) - chance.normal(size=columns))
        if chance.random() < 0.3:
            cost = np.minimum(cost, 0.5)  # many of one cost, as of pairs too far apart
        if chance.random() < 0.2:
            cost = np.round(cost)
        found, expected = assigned(cost), linear_sum_assignment(cost)
        assert [one.tolist() for one in found] == [one.tolist() for one in expected]
        short += 0 < rows <= columns and len(set(cost.argmin(axis=1).tolist())) == rows
    assert short > 100  # the short way was open


def test_the_branch_of_one_channel_is_what_matching_line_by_line_gives():
    random = np.random.default_rng(1)
    response = random.standard_normal((50, 1, 1)) + 1j * random.standard_normal((50, 1, 1))
    expected = np.linalg.eigvals(response)
    for before, now in pairwise(expected):
        now[:] = now[[pair for _, pair in sorted(matched(before, now).items())]]
    np.testing.assert_array_equal(branches(response), expected)
