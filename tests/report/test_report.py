"""The report: what it says, and that nothing in the data can do harm in it."""

import base64
import hashlib
import inspect
import itertools
import json
import re
import sys
import unicodedata
from html.parser import HTMLParser
from importlib.resources import files

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fwbq
from fwbq.report import contents as report_contents
from fwbq.report import words, write_report
from fwbq.report.decision import decision
from fwbq.report.page import _settings as settings_of
from fwbq.report.page import embed, page
from fwbq.selection import Evidences, Rest, label

pytest.importorskip("plotly", reason="plotly is not installed (the extra report)")

ENZYMES = ["mTOR", "S6K", *(f"E{i}" for i in range(3, 27))]
KINETIC = [(), *((e,) for e in ENZYMES), *itertools.combinations(ENZYMES, 2)]
HOSTILE = [
    "<img src=x onerror=alert(1)>", "</script><script>alert(2)</script>", "\"'><b>bold</b>", "<!--", "]]>",
    "<a href='javascript:alert(3)'>x</a>", "x" * 10_000, "\u05d0\u202eevil\u2066", "line\u2028and\u2029paragraph",
    "&amp;&lt;script&gt;", "$title ${style} %{x}<extra>", "\ud800 alone", "nul\x00 and \x1b[31m", "", "a\nb\tc",
    "\u0645\u0631\u062d\u0628\u0627", ("<svg/onload=alert(4)>", "</style>"), ("</style>",), (),
    ("<svg/onload=alert(4)>",),
]  # fmt: skip
ASSETS = files("fwbq.report") / "assets"


class Structure(HTMLParser):
    """The tags of a page with their attributes, and the text of its scripts."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.scripts, self.text, self._inside = [], [], [], None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._inside = tag if tag in ("script", "style") else None
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        self._inside = None

    def handle_data(self, data):
        if self._inside == "script":
            self.scripts[-1] += data
        elif self._inside is None:
            self.text.append(data)

    @property
    def data(self):
        return json.loads(self.scripts[0])


def draw(comparison):
    return page(comparison, "/* plotly */")


def said(comparison):
    return decision(comparison, comparison.probabilities())


@pytest.fixture(scope="module")
def kinetic(build_comparison):
    centre = np.random.default_rng(0).normal(-20.0, 3.0, len(KINETIC))
    centre[27:29] = -9.0, -9.2
    return build_comparison(KINETIC, centre, settings={"enzymes": 26, "likelihood": "closed form"})


# What is said -------------------------------------------------------------------------------------


def test_the_decision_in_one_sentence(build_comparison):
    found = said(build_comparison([("mTOR", "S6K"), ("mTOR",), ()], [-10.0, -10.15, -14.0]))
    assert found.verdict == "decided"
    number = r"(0\.\d+)"
    heard = re.fullmatch(
        rf"\{{mTOR, S6K\}} is the most probable of 3 models: posterior probability {number}; "
        rf"next is \{{mTOR\}} with {number}\.",
        found.headline,
    )
    best, second = map(float, heard.groups())
    between = re.findall(rf"between {number} and {number}", found.remarks[0])
    (low, high), (least, most) = (map(float, each) for each in between)
    weights = np.exp([-10.0, -10.15, -14.0])
    assert [best, second] == pytest.approx(weights[:2] / weights.sum(), abs=0.01)
    assert low < best < high and least < second < most
    chance = re.search(r"model \(MAP\) with probability (0\.\d+)\.$", found.ranking).group(1)
    assert 0.95 <= float(chance) < 1.0
    assert found.ranking.startswith("More computing is unlikely to change which model is first")
    assert " ".join(found.sentences).count("maximum a posteriori") == 1


def test_a_certain_ranking_does_not_hide_the_posterior(build_comparison):
    """P(MAP) of nearly one is no posterior probability of nearly one: the sentence begins with the latter."""
    found = said(build_comparison(["a", "b"], [0.0, -1.2], sds=(0.5, 0.001)))
    assert "posterior probability 0.76" in found.headline and "next is b with 0.23" in found.headline
    assert "above 0.999" not in found.headline
    assert "would not change" in found.ranking and "probability above 0.999" in found.ranking


@settings(max_examples=20, deadline=None)
@given(gaps=st.lists(st.floats(0.0, 3.0), min_size=1, max_size=6), sd=st.floats(0.01, 1.0))
def test_the_sentence_claims_no_more_than_was_found(build_comparison, gaps, sd):
    comparison = build_comparison([f"m{i}" for i in range(len(gaps) + 1)], [0.0, *(-g for g in gaps)], sds=(1.0, sd))
    found = said(comparison)
    assert (found.verdict == "decided") == (comparison.map_probability >= 0.95)
    if found.verdict == "decided":
        claim = re.search(r"\(MAP\) with probability (?:above )?([\d.]+)\.$", found.ranking).group(1)
        assert float(claim) <= comparison.map_probability + 1e-9
        assert ("would not" in found.ranking) == (comparison.map_probability > 0.999)
    else:
        assert found.headline.startswith("Undecided among ")
        assert "could change which model is first" in found.ranking
        assert any("For P(MAP) above 0.95: " in remark for remark in found.remarks)


def test_undecided_at_the_end_of_the_budget_says_what_is_needed(build_comparison):
    comparison = build_comparison(
        ["a", "b", "c"], [0.0, -0.4, -0.5], sds=(2.0, 0.5), status="the budget of 40 points ended"
    )
    found = said(comparison)
    assert found.headline.startswith("Undecided among 3 models: a leads with posterior probability 0.")
    assert "; next is b with 0." in found.headline
    assert ", b with 0." in found.ranking and ", and 1 more with above 0.01" in found.ranking
    assert "The run ended after 120 evaluations: the budget of 40 points ended." in found.remarks
    assert found.remarks[-1] == f"For P(MAP) above 0.95: {comparison.forecast(0.95)}."
    assert "points for each of the two leading models, a and b" in found.remarks[-1]


def test_the_level_is_the_one_at_which_the_run_was_to_stop(build_comparison):
    comparison = build_comparison(["a", "b"], [0.0, -0.15], settings={"stop": 0.999})
    assert 0.95 < comparison.map_probability < 0.999
    assert said(comparison).verdict == "undecided"
    assert "For P(MAP) above 0.999" in said(comparison).remarks[-1]


def test_one_model(build_comparison):
    found = said(build_comparison(["linear"], [-12.3456]))
    assert found.verdict == "single"
    assert re.fullmatch(r"linear is the only model: log evidence −12\.346 ± 0\.05\d\.", found.headline)
    assert not any("MAP" in sentence for sentence in found.sentences)


def test_models_that_are_not_listed_are_counted_and_weighed(build_comparison):
    comparison = build_comparison(["a", "b"], [0.0, -3.0], sds=(0.1, 1e-6), rest=Rest(50_000_000, np.log(0.25 / 2.0)))
    remark = next(r for r in said(comparison).remarks if "not listed" in r)
    mass = 0.25 / (0.25 + 1.0 + np.exp(-3.0))
    assert remark.startswith("50,000,000 of the 50,000,002 models were screened out")
    assert f"posterior probability of {mass:.3g}. P(MAP) compares the 2 models" in remark
    data = Structure(draw(comparison)).data
    assert data["total"] == 50_000_002
    assert sum(data["models"]["probability"]) == pytest.approx(1.0 - mass, abs=1e-5)


def test_a_map_that_is_not_probable_is_not_called_so(build_comparison):
    comparison = build_comparison([f"m{i}" for i in range(50)], [0.5, *np.zeros(49)], sds=(0.1, 0.01))
    found = said(comparison)
    assert found.verdict == "decided"
    assert "less than one half: the other models together 0.96" in found.remarks[0]


def test_models_without_any_likelihood_are_not_ranked(build_comparison, tmp_path):
    none = build_comparison(["a", "b"], [-np.inf, -np.inf])
    with np.errstate(invalid="ignore"):
        found = said(none)
    assert found.verdict == "undecided"
    assert found.headline == "None of 2 models can be ranked: no likelihood is positive where it was evaluated."
    assert found.headline in repr(none) and found.headline in none.summary()
    assert found.headline in none._repr_html_() and "unknown" in none._repr_html_()
    assert "None of 2 models" in none.report(tmp_path / "x.html").read_text("utf-8")


def test_a_notebook_shows_the_decision_and_escapes_names(build_comparison):
    text = build_comparison(["<b>one</b>", "two"], [0.0, -1.0])._repr_html_()
    assert "<b>one" not in text and "&lt;b&gt;one&lt;/b&gt; is the most probable of 2 models" in text
    assert text.count("<tr>") == 3
    assert repr(build_comparison(["one", "two"], [0.0, -1.0])).startswith("<Comparison: one is the most probable of 2")


def test_long_names_do_not_fill_the_sentence(build_comparison):
    found = said(build_comparison(["x" * 10_000, "y" * 10_000], [0.0, -0.1], sds=(2.0, 0.5)))
    assert all(len(text) < 600 for text in (found.headline, *found.remarks))


# What is shown ------------------------------------------------------------------------------------


def test_the_rows_are_those_of_the_table_in_python(kinetic):
    data = Structure(draw(kinetic)).data
    frame = kinetic.to_frame()
    models = data["models"]
    assert models["name"] == list(frame["model"])
    for key, column in {"probability": "probability", "q05": "q05", "q95": "q95", "map": "map_probability"}.items():
        np.testing.assert_allclose(models[key], frame[column], rtol=1e-5)
    np.testing.assert_allclose(models["logEvidence"], frame["log_evidence"], rtol=1e-9)
    np.testing.assert_allclose(models["sd"], frame["log_evidence_sd"], rtol=1e-3)
    assert models["name"][data["best"]] == "{mTOR, S6K}"
    assert [kinetic.names[i - 1] for i in models["position"]] == [
        tuple(filter(None, name[1:-1].split(", "))) for name in models["name"]
    ]
    assert [data["members"][j] for j in models["members"][data["best"]]] == ["mTOR", "S6K"]
    inclusion = kinetic.inclusion(level=0.9)  # the range of the boxes
    drawn = inclusion.head(report_contents.MEMBERS)
    assert data["inclusion"]["name"] == list(drawn["name"])
    np.testing.assert_allclose(data["inclusion"]["upper"], drawn["upper"], rtol=1e-5)
    history = kinetic.history()
    assert data["history"]["evaluations"] == list(history["evaluations"])
    np.testing.assert_allclose(data["history"]["map"], history["map_probability"], rtol=1e-5)
    np.testing.assert_allclose(
        data["error"]["median"], [np.median(s.evidences.log_sd) for s in kinetic.stages], rtol=1e-3
    )


def test_the_most_probable_thousand_of_many_are_listed(build_comparison):
    rng = np.random.default_rng(1)
    names = list(itertools.combinations([f"K{i}" for i in range(72)], 2))[:2500]
    comparison = build_comparison(names, rng.normal(0.0, 2.0, 2500), sds=(0.02, 0.01))
    data = Structure(draw(comparison)).data
    assert len(data["models"]["name"]) == report_contents.ROWS
    assert data["total"] == 2500
    listed = np.array(data["models"]["position"]) - 1
    assert set(np.argsort(-comparison.evidences.log_median)[:900]) <= set(listed)
    assert len(data["inclusion"]["name"]) == report_contents.MEMBERS


def test_numbers_that_are_not_finite_are_left_out(build_comparison):
    comparison = build_comparison(["a", "b"], [0.0, -1.0])
    last = comparison.evidences
    broken = Evidences(last.kind, np.array([0.0, -np.inf]), last.scale, last.df, last.offset)
    changed = fwbq.Comparison(
        comparison.names,
        broken,
        comparison.log_prior,
        comparison.points,
        comparison.stages,
        "done",
        comparison.settings,
    )
    data = Structure(draw(changed)).data
    assert data["models"]["logEvidence"][1] is None
    assert data["models"]["probability"] == [1.0, 0.0]


def kinetics(**options):
    data = fwbq.chema.Dataset.example().select(enzymes=["E7", "E19", "E11"])
    return data, fwbq.chema.compare(data, n=20, rng=3, progress=False, **options)


def test_the_data_and_the_fitted_curves_are_on_the_page():
    data, comparison = kinetics()
    (condition,) = Structure(page(comparison, "", data)).data["fits"]["conditions"]
    np.testing.assert_allclose(condition["phospho"], data.phospho, rtol=1e-5)
    np.testing.assert_allclose(condition["rates"], data.rates, rtol=1e-5)
    frame = comparison.to_frame()
    assert [m["name"] for m in condition["models"]] == list(frame["model"][: len(condition["models"])])
    assert {e["name"] for e in condition["enzymes"]} == {"E7", "E19", "E11"}
    found = fwbq.chema.fit(data, comparison.best, truncated=True, rng=0).courses[0]
    low, high = np.quantile(found.predicted, [0.05, 0.95], axis=0)
    np.testing.assert_allclose(condition["models"][0]["rates"]["low"], low, rtol=1e-5)
    np.testing.assert_allclose(condition["models"][0]["rates"]["high"], high, rtol=1e-5)
    inside = int(np.sum((low <= data.rates) & (data.rates <= high)))
    assert f"{label(comparison.best)} {inside} of 20" in "".join(Structure(page(comparison, "", data)).text)


def test_a_model_without_a_fit_is_named(monkeypatch):
    data, comparison = kinetics()
    whole = fwbq.report.fits.fit

    def contradicted(dataset, model, **options):
        if model == comparison.best:
            raise fwbq.chema.ContradictedError("no draw of the rates is positive")
        return whole(dataset, model, **options)

    monkeypatch.setattr(fwbq.report.fits, "fit", contradicted)
    shown = Structure(page(comparison, "", data))
    assert label(comparison.best) not in [m["name"] for m in shown.data["fits"]["conditions"][0]["models"]]
    assert f"No curve is drawn for {label(comparison.best)}" in "".join(shown.text)
    # Any other error is one of the program, and is not hidden.
    monkeypatch.setattr(fwbq.report.fits, "fit", lambda *args, **options: int("no number"))
    with pytest.raises(ValueError, match="invalid literal"):
        page(comparison, "", data)


def test_without_data_there_are_no_curves(kinetic):
    assert Structure(draw(kinetic)).data["fits"] == {}


def test_other_data_are_refused(kinetic, tmp_path):
    with pytest.raises(ValueError, match="`dataset` has no enzyme 'mTOR'"):
        write_report(kinetic, tmp_path / "x.html", fwbq.chema.Dataset.example())
    with pytest.raises(TypeError, match="`dataset` must be a Dataset"):
        write_report(kinetic, tmp_path / "x.html", "data.csv")


def snippet(comparison):
    """The Python that the page shows."""
    return "".join(Structure(draw(comparison)).text).split("In Python")[1].split("Versions")[0].strip()


@pytest.mark.parametrize(
    "options",
    [
        {"stop": 0.9},
        {"models": [("E7",), ("E7", "E19")], "race": False},
        {"max_enzymes": 1, "truncated": True, "tol": 0.2},
    ],
)
def test_the_snippet_makes_the_same_numbers(options, tmp_path, monkeypatch):
    """To the last digit, from the data set that it names."""
    monkeypatch.chdir(tmp_path)
    source = "fwbq.chema.Dataset.from_csv('data.csv')"
    fwbq.chema.Dataset.example().select(enzymes=["E7", "E19", "E11"]).to_csv("data.csv")
    data = fwbq.chema.Dataset.from_csv("data.csv")
    comparison = fwbq.chema.compare(data, n=20, rng=3, progress=False, settings={"data": source}, **options)
    space = {}
    exec(snippet(comparison), space)
    assert space["comparison"].to_frame().equals(comparison.to_frame())
    again = Structure((tmp_path / "report.html").read_text("utf-8")).data
    assert again == Structure(page(comparison, "", data)).data


def test_every_setting_of_kinetic_models_has_a_name_for_readers():
    data = fwbq.chema.Dataset.example().select(enzymes=["E7", "E19", "E11"])
    comparison = fwbq.chema.compare(data, n=20, rng=0, progress=False, effective=20.0, inclusion={"E7": 0.7})
    shown = dict(settings_of(comparison))
    assert shown["Basal rate, without any enzyme"] == "no"
    assert not {name.partition(".")[0] for name in shown} & set(comparison.settings)


def test_the_call_in_python_is_one_that_can_be_made(build_comparison):
    made = build_comparison(["a"], [0.0], settings={"amplitude": "ml", "race": False, "tol": 0.1, "rng": 5})
    recipe = snippet(made)
    compile(recipe, "recipe", "exec")
    keywords = set(re.findall(r"^    (\w+)=", recipe, flags=re.MULTILINE))
    assert keywords == {"stages", "stop", "tol", "amplitude", "race", "rng"}
    assert keywords <= set(inspect.signature(fwbq.compare_models).parameters)
    assert "fwbq.compare_models(" in recipe and "rng=5," in recipe
    assert "no seed was given" in snippet(build_comparison(["a"], [0.0]))


def test_the_command_is_shown_when_it_is_known(build_comparison):
    shown = Structure(draw(build_comparison(["a"], [0.0], settings={"command": "fwbq select 'd.csv' && x"}))).text
    assert "fwbq select 'd.csv' && x" in "".join(shown)


def test_the_seed_shown_is_the_one_given():
    text = "".join(Structure(draw(kinetics()[1])).text)
    assert re.search(r"Seed given\s*3\s", text)
    assert "rank_deficient" not in text and "Models whose enzymes the data cannot tell apart" in text


def test_map_is_spelt_out_once(kinetic):
    assert "".join(Structure(draw(kinetic)).text).lower().count("maximum a posteriori") == 1


def test_settings_are_shown(kinetic):
    text = "".join(Structure(draw(kinetic)).text)
    assert "Likelihood" in text and "closed form" in text
    assert np.__version__ in text and fwbq.__version__ in text


def test_rounds_of_a_screen_are_told_in_words(build_comparison):
    rounds = [{"enzymes": 2, "n": 100, "models": 44_850, "survived": 3_698}]
    settings = {"screen": {"top": 1000, "level": 0.001}, "rounds": rounds}
    text = "".join(Structure(draw(build_comparison(["a", "b"], [0.0, -1.0], settings=settings))).text)
    assert "Rounds of the screen" in text
    assert "44,850 models of 2 enzymes at 100 points, 3,698 kept" in text
    assert "survived" not in text and "screen.top" not in text
    # As another version may have written them.
    other = "".join(Structure(draw(build_comparison(["a", "b"], [0.0, -1.0], settings={"rounds": [7, 8]}))).text)
    assert "7, 8" in other


# The file -----------------------------------------------------------------------------------------


def test_one_file_the_same_bytes_every_time(kinetic, tmp_path):
    first = write_report(kinetic, tmp_path / "one.html")
    second = kinetic.report(str(tmp_path / "two.html"))
    assert first == tmp_path / "one.html"
    assert first.read_bytes() == second.read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["one.html", "two.html"]
    assert first.stat().st_size < 6e6


def test_without_plotly_the_error_says_what_to_install(kinetic, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(ImportError, match=r'pip install "fwbq\[report\]"'):
        write_report(kinetic, tmp_path / "x.html")
    assert not list(tmp_path.iterdir())


def test_what_is_not_a_comparison_is_refused(build_comparison, tmp_path):
    with pytest.raises(TypeError, match="`comparison` must be a Comparison"):
        write_report({"a": 1}, tmp_path / "x.html")
    full = build_comparison(["a"], [0.0])
    nothing = fwbq.Comparison(
        (), full.evidences.take(np.arange(0)), full.log_prior[:0], full.points[:0], (), "done", {}
    )
    with pytest.raises(ValueError, match="holds no model"):
        write_report(nothing, tmp_path / "x.html")


def test_the_policy_allows_the_scripts_inside_and_nothing_from_outside(kinetic, tmp_path):
    structure = Structure(write_report(kinetic, tmp_path / "x.html").read_text("utf-8"))
    policy = next(a["content"] for t, a in structure.tags if a.get("http-equiv") == "Content-Security-Policy")
    rules = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"].split() == [
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
        for script in structure.scripts[1:]
    ]
    assert "http" not in policy
    addresses = [a[key] for _, a in structure.tags for key in ("src", "href", "action", "srcset") if key in a]
    assert set(addresses) == {"data:,", "#table"}


def test_the_script_makes_no_markup_from_text_and_no_request():
    script = (ASSETS / "report.js").read_text("utf-8")
    forbidden = r"(inner|outer|Adjacent)HTML|document\.write|\beval\b|new Function|fetch\(|XMLHttpRequest|https?:"
    assert not re.search(forbidden, script)
    assert "textContent" in script


# Hostile names ------------------------------------------------------------------------------------


def test_names_never_change_the_structure_of_the_page(build_comparison):
    centre = np.linspace(0.0, -2.0, len(HOSTILE))
    tame = [tuple(f"e{len(e)}" for e in name) if isinstance(name, tuple) else f"m{i}" for i, name in enumerate(HOSTILE)]
    pages = [
        Structure(draw(build_comparison(names, centre, status=status, settings={key: value, "command": value})))
        for names, status, key, value in (
            (tame, "done", "key", "value"),
            (HOSTILE, "</p><script>alert(5)</script>", "<i>k", "</td></table><script>alert(6)</script>"),
        )
    ]
    harmless, hostile = ([(tag, sorted(attrs)) for tag, attrs in p.tags] for p in pages)
    assert harmless == hostile
    assert len(pages[1].scripts) == 3
    assert pages[1].data["models"]["name"][0] == HOSTILE[0]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=20,
    )
)
def test_embedded_data_comes_back_and_holds_no_markup(data):
    text = embed(data)
    assert json.loads(text) == data
    assert text.isascii()
    assert not set("<>&") & set(text)


@given(st.text(st.characters(exclude_categories=[]), max_size=300), st.integers(2, 200))
def test_clean_text_is_one_bounded_line_that_can_be_written(text, limit):
    line = words.clean(text, limit)
    assert len(line) <= limit
    assert not any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in line)
    assert not any(
        unicodedata.bidirectional(c) in ("RLO", "LRO", "RLE", "LRE", "PDF", "RLI", "LRI", "FSI") for c in line
    )
    line.encode("utf-8")
    assert words.clean(line, limit) == line


@given(st.text(max_size=200), st.integers(3, 60))
def test_shortened_names_keep_their_ends(text, limit):
    line, short = words.clean(text), words.shorten(text, limit).strip("\u2068\u2069")
    assert len(short) <= limit
    if len(line) <= limit:
        assert short == line
    else:
        head, _, tail = short.partition("…")
        assert line.startswith(head)
        assert line.endswith(short[len(head) + 1 :] or tail)


@given(st.floats(0.0, 1.0))
def test_probabilities_in_words_err_on_the_careful_side(p):
    assert float(words.certainty(p).removeprefix("above ")) <= p + 1e-9


# For every reader ---------------------------------------------------------------------------------


def test_the_page_can_be_read_without_eyes(kinetic):
    tags = Structure(draw(kinetic)).tags
    assert tags[0] == ("html", {"lang": "en"})
    levels = [int(tag[1]) for tag, _ in tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    ids = [a["id"] for _, a in tags if "id" in a]
    assert len(ids) == len(set(ids))
    named = [a[key] for _, a in tags for key in ("aria-labelledby", "aria-describedby") if key in a]
    assert {i for value in named for i in value.split()} <= set(ids)
    for _, attributes in tags:
        if attributes.get("class") == "plot":
            assert attributes["role"] in ("img", "application")
            assert "aria-label" in attributes or "aria-labelledby" in attributes


def luminance(colour):
    channels = (int(colour[i : i + 2], 16) / 255.0 for i in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a, b):
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_contrast_is_sufficient(kinetic, theme):
    style = draw(kinetic).split("<style>")[1].split("</style>")[0]
    rules = re.findall(r":root(\[[^]]*\])?\s*\{([^}]*)\}", style)
    colours = {}
    for selector, body in rules:
        if not selector or theme in selector:
            colours |= dict(re.findall(r"--([\w-]+):\s*([^;]+);", body))
    colours = {name: colours[value[6:-1]] if value.startswith("var(") else value for name, value in colours.items()}
    for ground in ("page", "card", "tint"):
        for text in ("ink", "soft", "accent"):
            assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
    assert contrast(colours["contrast"], colours["card"]) >= 4.5
    assert contrast(colours["neutral"], colours["card"]) >= 3.0


def test_the_colours_are_those_of_the_figures(kinetic):
    from fwbq import plots

    assert f"--blue:{plots.BLUE};--sky:{plots.SKY};" in draw(kinetic)


# Kinetic models -----------------------------------------------------------------------------------


def checked(build_comparison, q2=0.6, first=("E7",), **more):
    """A comparison with the settings that kinetic models have."""
    changes = ("unit of time halved", "unit of time doubled", "prior of K halved", "prior of K doubled")
    fit = {"q2": q2, "q2_without_enzymes": -0.1, "p_value": 0.02, "permutations": 99, "p_negative": None}
    first_with = {change: ["E7"] for change in changes[:3]} | {changes[3]: list(first)}
    settings = {
        "likelihood": "truncated (V >= 0)", "units": "data", "rates": "shared", "conditions": 3, "cell_lines": 1,
        "forms": ["4EBP1", "p4EBP1"], "factors": {"time": 30.0, "substrate": 2.0, "phospho": 0.5, "enzymes": {}},
        "checks": {"fit": fit | more, "sensitivity": first_with},
    }  # fmt: skip
    return build_comparison([("E7",), ("E9",), ()], [0.0, -2.0, -5.0], settings=settings)


def test_units_rates_fit_and_sensitivity_have_a_line_each(build_comparison):
    found = said(checked(build_comparison))
    lines = [r for r in found.remarks if r.split(":")[0] in ("Units", "Rates", "Fit", "Prior sensitivity")]
    assert [line.split(":")[0] for line in lines] == ["Units", "Rates", "Fit", "Prior sensitivity"]
    assert "p4EBP1 in 0.5, 4EBP1 in 2, time in 30" in lines[0]
    assert "the 3 conditions share" in lines[1]
    assert "Q² 0.60" in lines[2] and "without enzymes −0.10" in lines[2] and "probability 0.0200" in lines[2]
    assert "{E7} stays first in 4 of 4." in lines[3]
    assert "{E7} stays first in 3 of 4; else {E9} in 1." in " ".join(
        said(checked(build_comparison, first=("E9",))).remarks
    )
    assert len(re.findall(r"0\.\d+", found.headline)) == 2


def test_a_leader_that_predicts_nothing_is_no_regulator(build_comparison):
    found = said(checked(build_comparison, q2=0.05))
    assert found.headline.startswith(
        "No model predicts the rates of p4EBP1 (leave-one-out Q² 0.05): do not read the ranking as regulation."
    )
    assert found.verdict == "undecided"
    assert not said(checked(build_comparison)).headline.startswith("No model")


def test_negative_rates_of_the_closed_form_are_said(build_comparison):
    assert any("with probability 0.400" in r for r in said(checked(build_comparison, p_negative=0.4)).remarks)
    assert not any("Signs" in r for r in said(checked(build_comparison, p_negative=0.01)).remarks)


@pytest.mark.parametrize("checks", [None, [], {"fit": 3, "sensitivity": []}, {"fit": {"q2": "high"}}])
def test_settings_of_another_shape_are_left_out(build_comparison, checks):
    other = checked(build_comparison)
    settings = other.settings | {"checks": checks, "factors": None, "forms": 5}
    found = said(build_comparison([("E7",), ("E9",)], [0.0, -2.0], settings=settings))
    assert not any(r.startswith(("Fit", "Prior", "Units")) for r in found.remarks)


def test_the_page_has_the_constants_in_the_units_and_names_of_the_data():
    data = fwbq.chema.Dataset.example().select(enzymes=["E7", "E19"]).with_values(forms=("4EBP1", "p4EBP1"))
    data = data.rescaled(time=60.0, level=1e-3)
    comparison = fwbq.chema.compare(data, n=20, rng=3, progress=False)
    shown = Structure(page(comparison, "", data))
    assert shown.data["fits"]["forms"] == ["4EBP1", "p4EBP1"]
    rows = {row[1]: row for row in shown.data["fits"]["constants"] if row[0] == label(comparison.best)}
    found = fwbq.chema.fit(data, comparison.best, truncated=True, rng=0)
    first = rows["K, dephosphorylation of p4EBP1"]
    assert float(first[2]) == pytest.approx(np.median(found.constants[:, 0]), rel=1e-2)
    second = rows[f"V, phosphorylation by {comparison.best[0]}"]
    assert float(second[2]) == pytest.approx(np.median(found.courses[0].velocities[:, 1]), rel=1e-2)
    assert second[4] == f"p4EBP1 per time and {comparison.best[0]}"
    assert "the substrate 4EBP1 and its phosphorylated form p4EBP1" in "".join(shown.text)
