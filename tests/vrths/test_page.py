import numpy as np

from halfreal.benchmark import page as page
from halfreal.benchmark.problem import Score
from halfreal.vrths.problem import PROBLEM
from presentation.pages import Page


def scores():
    good = np.array([0.0, 2.561, 1.79, 2.56, 1.8, 0.06, 0.06, 0.06, 0.06])
    late = np.array([4.64, 10.36, 11.81, 35.98, 18.51, 32.17, 32.29, 14.78, 14.72])
    lost = np.full(9, np.nan)
    return [
        Score(1, "El Centro", "none", 0, False, lost, 35985.0, 2.56),
        Score(1, "El Centro", "PI + lead", 0, True, late, 5080.0, 2.56),
        Score(1, "El Centro", "adaptive model, force", 0, True, good, 4591.0, 2.56),
        Score(1, "El Centro", "PI + lead", 1, True, 1.1 * late, 9080.0, 2.56),
        Score(4, "<mine>", "PI + lead", 0, True, late, 5080.0, 2.56),
    ]


def test_the_page_has_every_run_beside_what_others_found(tmp_path):
    page.write(PROBLEM, scores(), tmp_path / "card.html", seconds=46.0)
    text = (tmp_path / "card.html").read_text(encoding="utf-8")
    shown = Page(text)
    for words in ("PI + lead", "unstable", "2.56", "paper, Table 3", "19.00", "problem's code", "18.93", "46 s"):
        assert words in shown.text, words
    assert "worst of 1, 0 unstable" in shown.text and "20.36" in shown.text
    assert "<mine>" in shown.text and "script" not in shown.tags and shown.tags.count("svg") == 1
    # El Centro alone has the paper's values
    assert shown.text.count("paper, Table 3") == 1


def test_couplings_that_are_all_unstable_are_drawn_too():
    figure = page.couplings(PROBLEM, scores()[:1])
    assert [text.get_text() for text in figure.axes[0].texts] == ["1 unstable"]
