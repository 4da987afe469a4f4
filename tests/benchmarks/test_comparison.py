"""Rows of tables come from runs, failures keep theirs, and the paper's figures are marked as its own."""

import json

import pytest

from comparison import METRICS, Comparison, doubted, paper_rows, spread
from comparison_page import sections
from comparison_plots import page
from comparison_summary import contests, in_short

QUALITY = dict.fromkeys(METRICS, 0.8)


def run(method, *, task="Income", epsilon=5.1, seed=0, rows=None, source="states14", **values):
    key = {"task": task, "source": source, "rows": rows, "method": method, "epsilon": epsilon, "delta": 1e-5}
    return {
        "key": {**key, "seed": seed},
        "outcome": "ok",
        "reason": "",
        "limits": {"seconds": 100.0, "mebibytes": 12288.0},
        "processor_seconds": 10.0,
        "peak_mebibytes": 100.0,
        "metrics": QUALITY,
        "notes": {},
        **values,
    }


def failed(method, reason="not done after 900 s of processor time", **values):
    made = run(method, outcome="time limit", reason=reason, **values)
    del made["metrics"]
    return made


@pytest.fixture
def folder(tmp_path):
    runs = {
        "real": [run("real", epsilon=None, metrics={**QUALITY, "auc": 0.9})],
        "mst": [
            run("mst", metrics={**QUALITY, "auc": 0.7}),
            run("mst", seed=1, metrics={**QUALITY, "auc": 0.8}),
            run("mst", epsilon=1.0),
            run("mst", rows=500, metrics=dict.fromkeys(METRICS, 0.123)),
            run("mst", source="california-40pct", metrics=dict.fromkeys(METRICS, 0.123)),
        ],
        "aggregates": [
            run("aggregates", metrics={**QUALITY, "auc": 0.85, "pair_error": 0.2}),
            run("aggregates", epsilon=1.0),
        ],
        "aim": [failed("aim")],
        "algorithm1": [run("algorithm1", notes={"epochs": 12.2, "epochs_of_the_paper": 200, "noise_scale": 0.86})],
    }
    for name, content in runs.items():
        (tmp_path / f"{name}.json").write_text(json.dumps({"runs": content}))
    return tmp_path


def test_only_whole_tables_of_the_source_count(folder):
    comparison = Comparison(folder=folder)
    assert comparison.tasks == ["Income"]
    assert comparison.epsilons == [1.0, 5.1]
    row = next(row for row in comparison.rows("Income", 5.1) if row.method == "mst")
    assert row.values("auc") == [0.7, 0.8]


def test_references_stand_beside_every_epsilon(folder):
    comparison = Comparison(folder=folder)
    for epsilon in comparison.epsilons:
        assert comparison.rows("Income", epsilon)[0].method == "real"


def test_a_metric_that_is_none_is_left_out(folder):
    (folder / "pate.json").write_text(json.dumps({"runs": [run("pate", metrics={**QUALITY, "correlation": None})]}))
    row = next(row for row in Comparison(folder=folder).rows("Income", 5.1) if row.method == "pate")
    assert row.values("correlation") == []
    assert row.mean("correlation") is None


def test_markdown_has_mean_failures_and_the_papers_figures(folder):
    text = "\n".join(sections([Comparison(folder=folder)]))
    assert "0.750 ± 0.071" in text
    assert "time limit: not done after 900 s of processor time" in text
    assert "12.2 of 200 epochs fit 100 s" in text
    assert "*the paper, California: DP-MERF*" in text
    assert "*0.81 ± 0.01*" in text
    assert "0.123" not in text


def test_the_best_private_mean_is_bold_and_a_method_that_failed_is_not_in_the_means(folder):
    text = "\n".join(sections([Comparison(folder=folder)]))
    means = text[text.index("Means over") : text.index("#### Income")]
    assert "**0.850**" in means
    assert "**0.200**" in means
    assert "**0.900**" not in means
    assert "AIM" not in means


def test_the_page_is_whole_and_shows_failures(folder):
    text = page(Comparison(folder=folder))
    assert text.count("<svg") == text.count("</svg>") >= 3
    assert 'class="failed"' in text
    assert "http://www.w3.org/2000/svg" in text
    assert "<script" not in text


def test_the_page_is_the_same_every_time(folder):
    assert page(Comparison(folder=folder)) == page(Comparison(folder=folder))


def test_nothing_run_gives_no_section(tmp_path):
    assert sections([Comparison(folder=tmp_path)]) == []


def test_the_paper_has_five_methods_on_every_task():
    for epsilon in (5.1, 8.1):
        for task in ("Income", "PublicCoverage", "Mobility", "Employment", "TravelTime"):
            assert len(paper_rows(task, epsilon)) == 5
    assert dict(paper_rows("Employment", 5.1))["algorithm1"]["ks"] == [0.77, 0.03]


def test_spread_of_one_value_has_no_deviation():
    assert spread([0.5]) == "0.500"
    assert spread([]) == "–"


def test_in_short_says_what_is_won_what_is_lost_and_what_is_within_the_scatter(folder):
    better = [run("merf", metrics={**QUALITY, "f1": 0.9, "auc": 0.5, "ks": 0.80004, "tv": 0.81})]
    ours = [
        run("aggregates", seed=seed, metrics={**QUALITY, "pair_error": 0.2, "tv": tv})
        for seed, tv in enumerate((0.75, 0.85))
    ]
    (folder / "merf.json").write_text(json.dumps({"runs": better}))
    (folder / "aggregates.json").write_text(json.dumps({"runs": ours}))
    text = "\n".join(in_short([Comparison(folder=folder)]))
    assert "Of 10 cells (task × metric) Microtome's aggregates are the best private method in 7" in text
    assert "Others win 3, 1 of these within the scatter. Beyond it: KSComp of Income" in text
    assert "(DP-MERF 0.80004 against 0.80000); LR F1 of Income" in text
    assert "(DP-MERF 0.900 against 0.800, LR AUC 0.500 against 0.800)" in text
    assert "after 12 to 12 of its 200 epochs" in text


def test_in_short_lower_is_better_where_it_is(folder):
    held = {contest.metric: contest for contest in contests(Comparison(folder=folder), 5.1)}
    assert held["pair_error"].best.method == "aggregates"
    assert held["auc"].best.method == "aggregates"
    assert held["auc"].rows[-1].method == "mst"


def test_what_a_classifier_makes_of_rows_that_taught_it_nothing_is_in_brackets():
    assert doubted("auc", "0.306", 1.018, 0.306) == "(0.306)"
    assert doubted("f1", "0.42", 1.018, 0.55) == "(0.42)"
    assert doubted("auc", "0.852", 0.999, 0.852) == "0.852", "pairs with the label may be known where others are not"
    assert doubted("auc", "0.52", 0.5, 0.52) == "0.52"
    assert doubted("tv", "0.9", 1.02, 0.4) == "0.9"
    assert doubted("auc", "–", 1.0, None) == "–"
