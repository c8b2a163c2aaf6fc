"""The page of a campaign: surfaces, best points and failures, and nothing that is not ours."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy.stats import spearmanr

from halfreal.campaigns import command
from halfreal.campaigns import page as campaign
from halfreal.campaigns import plots as campaign_plots
from halfreal.campaigns.plan import Plan, Varied
from halfreal.campaigns.store import Column, Results
from halfreal.presentation.plots import NothingToPlotError
from presentation.pages import Page

SCORES = (Column("peak gap", "m"), Column("limits used", "1"), Column("phase margin", "deg"), Column("verdict", ""))
PLACES = ("rig.actuator.delay", "rig.specimen.stiffness", "coupling.prediction")


def results(values: np.ndarray, *, title: str = "a campaign", points: int | None = None, **columns: object) -> Results:
    """Results with a peak gap of |x₁ − 3 ms| (+ x₂ …), of which the columns given differ."""
    n, varied = values.shape
    units = ("s", "N/m", "s")[:varied]
    plan = Plan(title=title, vary={"any": [1]}, scores=tuple(score.name for score in SCORES[:3]))
    table: dict[str, np.ndarray] = {
        "point": np.arange(1, n + 1),
        **{place: values[:, i] for i, place in enumerate(PLACES[:varied])},
        "status": np.full(n, "done", dtype=object),
        "outcome": np.full(n, "completed", dtype=object),
        "reason": np.full(n, "", dtype=object),
        "seconds": np.full(n, 0.01),
        "run_file": np.full(n, "", dtype=object),
        "peak gap": np.abs(values[:, 0] - 3e-3) + 1e-6 * values[:, 1:].sum(axis=1),
        "limits used": np.linspace(0.1, 0.5, n),
        "phase margin": np.full(n, 40.0),
        "verdict": np.full(n, "GO", dtype=object),
    }
    table |= {name.replace("_", " "): np.asarray(value) for name, value in columns.items()}
    about = {
        "title": title, "plan": json.dumps(plan.model_dump(mode="json")), "definition": 'title = "as written"',
        "halfreal": "0.1.0", "definition_fingerprint": "abc123",
    }  # fmt: skip
    varying = tuple(Varied(place, unit, 3e-3) for place, unit in zip(PLACES, units, strict=False))
    return Results(about, varying, SCORES, points or n, table)


def grid(*axes: np.ndarray) -> np.ndarray:
    return np.stack([part.ravel() for part in np.meshgrid(*axes, indexing="ij")], axis=1)


DELAYS, STIFFNESSES = np.linspace(1e-3, 6e-3, 6), np.linspace(1e3, 2e3, 5)
SCATTER = np.random.default_rng(1).uniform([1e-3, 1e3, 0.0], [6e-3, 2e3, 9e-3], (50, 3))


def drawn(page: str) -> list[ElementTree.Element]:
    """The page's plots, which must be well-formed."""
    return [ElementTree.fromstring(part.split("</svg>")[0] + "</svg>") for part in _svgs(page)]


def _svgs(page: str) -> list[str]:
    return ["<svg" + part for part in page.split("<svg")[1:]]


@pytest.mark.parametrize(
    "values",
    [
        DELAYS[:, None],
        grid(DELAYS, STIFFNESSES),
        grid(DELAYS[:2], STIFFNESSES[:3]),
        SCATTER[:, :2],
        SCATTER[:5, :2],
        np.repeat(np.linspace(1.0, 2.0, 20)[:, None], 2, axis=1) * [1e-3, 1e3],  # on one line
        SCATTER,
        DELAYS[:1, None],
    ],
    ids=["curve", "map", "fields", "scattered", "few", "line", "effects", "one point"],
)
def test_every_kind_of_campaign_has_its_picture_and_its_best_point(values):
    found = results(values)
    page = campaign.render(found)
    assert len(drawn(page)) == 1
    text = Page(page).text
    best = int(np.argmin(found["peak gap"]))
    first = re.search(r'<tbody>\s*<tr><td class="n">(\d+)</td>', page[page.index("Best points") :])
    assert first is not None and int(first[1]) == best + 1
    assert "COMPLETE" in text and f"{len(values)} of {len(values)} points" in text
    assert "40°" in text and "abc123" in text and "as written" in text


def test_points_that_tripped_or_failed_are_told_once_for_each_reason_and_never_best():
    n = 6
    status = np.array(["done"] * 3 + ["failed"] * 3, dtype=object)
    outcome = np.array(["completed", "tripped", "tripped", "", "", ""], dtype=object)
    reason = np.array(
        ["", "gap was 6.1 mm, beyond its limit of 5 mm", "gap was 7 mm, beyond its limit of 5 mm",
         "delay of 3000 steps, more than 2000", "delay of 4000 steps, more than 2000", "ValueError: odd"], dtype=object,
    )  # fmt: skip
    gap = np.array([2.0, 1.0, 1.0, np.nan, np.nan, np.nan])
    found = results(DELAYS[:, None], points=8, status=status, outcome=outcome, reason=reason, peak_gap=gap)
    assert found["point"][found.best()].tolist() == [1]
    assert [(r.status, r.count, r.first) for r in campaign.reasons(found)] == [
        ("failed", 2, 4), ("failed", 1, 6), ("tripped", 2, 2),
    ]  # fmt: skip
    text = Page(campaign.render(found)).text
    assert "UNFINISHED" in text and f"{n} of 8 points: 2 tripped, 1 completed, 3 failed; 3 GO." in text
    assert "ValueError: odd" in text and "gap was 6.1 mm" in text and "4: rig.actuator.delay = 4 ms" in text


def test_a_campaign_of_which_nothing_is_done_or_completed_still_has_a_page():
    nothing = results(np.zeros((0, 2)), points=4)
    assert "none yet" in Page(campaign.render(nothing)).text
    tripped = results(DELAYS[:, None], outcome=np.full(6, "tripped", dtype=object))
    text = Page(campaign.render(tripped)).text
    assert "No point was completed and GO" in text
    with pytest.raises(NothingToPlotError):
        campaign_plots.surfaces(tripped)


def test_influence_is_spearmans_rank_correlation():
    found = results(SCATTER)
    ranked = dict((parameter.place, value) for parameter, value in campaign_plots.influence(found))
    for i, place in enumerate(PLACES):
        assert ranked[place] == pytest.approx(spearmanr(SCATTER[:, i], found["peak gap"]).statistic, abs=1e-12)
    assert list(map(abs, ranked.values())) == sorted(map(abs, ranked.values()), reverse=True)


def test_medians_are_those_of_each_value_or_of_stretches_with_as_many_points():
    x = np.array([1.0, 2.0, 1.0, 2.0, 2.0])
    np.testing.assert_array_equal(campaign_plots.medians(x, np.array([1.0, 5.0, 3.0, 7.0, 100.0])), [[1, 2], [2, 7]])
    many = np.arange(1.0, 81.0)
    middle, level = campaign_plots.medians(many, many**2)
    np.testing.assert_allclose(middle, np.arange(5.5, 80.0, 10.0))
    np.testing.assert_allclose(level, [np.median(many[i : i + 10] ** 2) for i in range(0, 80, 10)])


HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&{{ 7*7 }}$x$"


def test_nothing_hostile_gets_into_the_page():
    reason = np.array([HOSTILE] * 6, dtype=object)
    found = results(DELAYS[:, None], title=HOSTILE, status=np.array(["failed"] * 6, dtype=object), reason=reason)
    page = Page(campaign.render(found))
    assert not {"script", "img", "iframe", "object", "link"} & set(page.tags)
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert page.text.count(HOSTILE) >= 2, "shown as it is"


def test_the_page_is_written_whole_and_over_nothing_unasked(tmp_path):
    found = results(DELAYS[:, None])
    campaign.write(found, tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == campaign.render(found)
    with pytest.raises(FileExistsError):
        campaign.write(found, tmp_path / "page.html")


def test_verdicts_are_counted_whatever_their_words_and_told_with_their_reasons():
    """Of 30 points 20 GO, 6 MARGINAL, 3 NO-GO; one tripped."""
    values = grid(DELAYS, STIFFNESSES)
    verdict = np.array(["GO"] * 20 + ["MARGINAL"] * 6 + ["NO-GO"] * 4, dtype=object)
    reason = np.array([""] * 20 + [f"phase margin of {i}° where 20° are asked for" for i in range(6)] + ["grows"] * 4)
    outcome = np.array(["completed"] * 29 + ["tripped"], dtype=object)
    found = results(values, verdict=verdict, reason=reason.astype(object), outcome=outcome)
    assert found.verdicts == {"GO": 20, "MARGINAL": 6, "NO-GO": 4}
    assert "29 completed, 1 tripped; 20 GO, 6 MARGINAL, 4 NO-GO." in campaign.render(found)
    told = command.as_text(found)
    assert "  6 completed but MARGINAL, first point 21" in "\n".join(told) and "phase margin of 0° where" in "\n".join(
        told
    )
    numbers = command.summary(found)
    assert numbers["verdicts"]["NO-GO"] == 4
    assert [(one["status"], one["count"]) for one in numbers["reasons"]] == [
        ("completed but MARGINAL", 6),
        ("completed but NO-GO", 3),
        ("tripped", 1),
    ]
