"""The report in a real browser: Chromium without a window, from disk."""

import itertools
import json
import shutil

import numpy as np
import pytest

from fwbq.chema import Dataset
from fwbq.report import write_report
from fwbq.selection import Rest

webdriver = pytest.importorskip("selenium.webdriver")
from selenium.common.exceptions import NoAlertPresentException  # noqa: E402
from selenium.webdriver import ActionChains, Keys  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.support.ui import Select, WebDriverWait  # noqa: E402

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="chromium and chromedriver are not installed")

ENZYMES = ["mTOR", "S6K", *(f"E{i}" for i in range(3, 27))]
KINETIC = [(), *((e,) for e in ENZYMES), *itertools.combinations(ENZYMES, 2)]
HOSTILE = [
    "<img src=x onerror=window.harmed=1>", "</script><script>window.harmed=1;alert(1)</script>", "<b>bold</b>",
    "<a href='javascript:alert(2)'>link</a>", "&lt;i&gt; &amp;", "<br>%{x}<extra>", "x" * 10_000,
    "\u05d0\u05d1\u202eevil", "line\u2028separator", "{{1+1}}$a$", ("<svg/onload=alert(3)>", "</style>"),
    ("</style>",), (),
]  # fmt: skip


@pytest.fixture(scope="module")
def pages(build_comparison, tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    rng = np.random.default_rng(0)
    centre = rng.normal(-20.0, 3.0, len(KINETIC))
    centre[27:29] = -5.0, -5.3
    settings = {"enzymes": 26}
    pairs = [(f"K{a:04d}", f"K{b:04d}") for a, b in rng.integers(0, 10_000, (1000, 2))]
    comparisons = {
        "kinetic": build_comparison(KINETIC, centre, (0.3, 0.2, 0.08), (10, 20, 40), settings=settings),
        "screened": build_comparison(
            pairs, -np.sort(rng.exponential(2.0, 1000)), (0.005, 0.001), rest=Rest(50_004_001, 0.0)
        ),
        "hostile": build_comparison(HOSTILE, np.linspace(0.0, -3.0, len(HOSTILE)), (0.6, 0.3), settings={"enzymes": 2}),
        "single": build_comparison(["only"], [-3.0]),
        "single round": build_comparison(KINETIC, centre, (0.1,), (10,), settings=settings),
        "hopeless": build_comparison(list("abcde"), [0.0, -5.0, -60.0, -70.0, -80.0]),
        "fitted": build_comparison([("E7", "E19"), ("E19",), ()], [0.0, -1.0, -9.0]),
    }
    early = Dataset.example().select(enzymes=["E7", "E19"])
    late = Dataset(early.times[10:], early.substrate[10:], early.phospho[10:], early.enzymes[10:], early.names)
    data = {"fitted": Dataset.combine([early, late], ["early", "late"])}
    return {
        name: write_report(made, folder / f"{name}.html", data.get(name)).as_uri() for name, made in comparisons.items()
    }


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (
        "headless=new", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking",
        "disable-component-update", "disable-sync", "window-size=1280,900", "force-prefers-reduced-motion",
        f"user-data-dir={tmp_path_factory.mktemp('profile')}",
    ):  # fmt: skip
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    options.set_capability("unhandledPromptBehavior", "ignore")
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def show(browser, pages):
    """Open a page, of a certain width; all it complained about or asked the network for is an error."""

    def open_page(name, width=1280, theme="light"):
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        media = {"features": [{"name": "prefers-color-scheme", "value": theme}]}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        browser.get(pages[name])
        until(browser, "return document.documentElement.dataset.ready === 'yes'")
        quiet(browser)
        return browser

    return open_page


def quiet(browser):
    """Nothing was written to the console, and nothing was asked of the network."""
    assert browser.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = [event["params"] for event in events if event["method"] == "Network.requestWillBeSent"]
    # The browser's own first page, which it leaves for ours, is a chrome: document.
    asked = [request["request"]["url"] for request in sent if not request["documentURL"].startswith("chrome:")]
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []


def until(browser, script, seconds=20):
    return WebDriverWait(browser, seconds, poll_frequency=0.05).until(lambda b: b.execute_script(script))


def by_id(browser, name):
    return browser.find_element(By.ID, name)


def column(browser, number):
    script = (
        "return Array.from(document.querySelectorAll('#models tbody tr'), r => r.cells[arguments[0]].firstChild.data)"
    )
    return browser.execute_script(script, number)


def drawn(browser):
    """Names of the models in the figure."""
    return browser.execute_script(
        "return Array.from(document.getElementById('plot-probabilities').layout.xaxis.ticktext)"
    )


def header(browser, key):
    return browser.find_element(By.CSS_SELECTOR, f"#models thead button[data-key={key}]")


def values(texts):
    return [float(text.replace("−", "-").replace("> ", "").replace(",", "")) for text in texts]


@pytest.fixture(scope="module")
def kinetic(show):
    return show("kinetic")


@pytest.fixture
def fresh(kinetic):
    """The page of 352 models with nothing filtered."""
    by_id(kinetic, "reset").click()
    Select(by_id(kinetic, "show")).select_by_value("25")
    Select(by_id(kinetic, "size")).select_by_visible_text("25")
    if "↑" not in header(kinetic, "rank").text:
        header(kinetic, "rank").click()
    until(kinetic, "return document.getElementById('plot-probabilities').data[2].x.length === 25")
    yield kinetic
    quiet(kinetic)


def test_the_figures_and_the_table_are_drawn(fresh):
    assert "{mTOR, S6K} is the most probable of 352 models" in fresh.find_element(By.CLASS_NAME, "headline").text
    for name in ("probabilities", "inclusion", "history", "error"):
        assert (
            fresh.execute_script("return document.querySelectorAll(arguments[0]).length", f"#plot-{name} .main-svg") > 0
        )
    assert column(fresh, 1)[0] == drawn(fresh)[0] == "{mTOR, S6K}"
    assert len(column(fresh, 1)) == 25
    assert by_id(fresh, "where").text == "1–25 of 352"


def test_sorting_the_table(fresh):
    Select(by_id(fresh, "size")).select_by_value("all")
    button = header(fresh, "logEvidence")
    button.click()
    assert button.find_element(By.XPATH, "..").get_attribute("aria-sort") == "descending"
    found = values(column(fresh, 5))
    assert len(found) == 352 and found == sorted(found, reverse=True)
    button.send_keys(Keys.ENTER)
    assert button.find_element(By.XPATH, "..").get_attribute("aria-sort") == "ascending"
    assert values(column(fresh, 5)) == sorted(found)
    header(fresh, "name").click()
    names = [name.lower() for name in column(fresh, 1)]
    assert names == sorted(names)
    sorts = [th.get_attribute("aria-sort") for th in fresh.find_elements(By.CSS_SELECTOR, "#models thead th")]
    assert sorts.count("ascending") == 1 and sorts.count("none") == len(sorts) - 1


def test_pages_of_the_table(fresh):
    first = column(fresh, 0)
    by_id(fresh, "next").click()
    assert column(fresh, 0) == [str(i) for i in range(26, 51)]
    by_id(fresh, "previous").click()
    assert column(fresh, 0) == first
    assert not by_id(fresh, "previous").is_enabled()


def test_searching_filters_table_and_figure(fresh):
    upper, lower = fresh.find_elements(By.CSS_SELECTOR, "[data-filter=text]")
    lower.send_keys("S6K mtor")
    assert column(fresh, 1) == ["{mTOR, S6K}"]
    assert upper.get_attribute("value") == "S6K mtor"
    until(fresh, "return document.getElementById('plot-probabilities').data[2].x.length === 1")
    assert drawn(fresh) == ["{mTOR, S6K}"]
    assert "1 matching model (352 listed)" in by_id(fresh, "count").text
    lower.send_keys("nothing")
    assert column(fresh, 1) == [] and by_id(fresh, "where").text == "no model matches"
    until(fresh, "return document.getElementById('plot-probabilities').data[2].x.length === 0")


def test_filtering_by_enzyme(fresh):
    Select(by_id(fresh, "member")).select_by_visible_text("S6K")
    until(fresh, "return document.getElementById('count').textContent.includes('25 of 26 matching models')")
    assert all("S6K" in name for name in drawn(fresh))
    assert by_id(fresh, "where").text == "1–25 of 26"
    assert all("S6K" in name for name in column(fresh, 1))


def test_order_and_number_of_boxes(fresh):
    Select(by_id(fresh, "order")).select_by_value("position")
    until(fresh, "return document.getElementById('plot-probabilities').layout.xaxis.ticktext[0] === '{}'")
    assert drawn(fresh)[:3] == ["{}", "{mTOR}", "{S6K}"]
    Select(by_id(fresh, "show")).select_by_value("all")
    until(fresh, "return document.getElementById('plot-probabilities').data[2].x.length === 352")
    # With 350 models of hardly any probability the axis starts logarithmic.
    assert by_id(fresh, "log").is_selected()
    assert fresh.execute_script("return document.getElementById('plot-probabilities').layout.yaxis.type") == "log"
    by_id(fresh, "log").click()
    until(fresh, "return document.getElementById('plot-probabilities').layout.yaxis.type !== 'log'")


def test_pointing_at_a_box_names_the_model(fresh):
    plot = by_id(fresh, "plot-probabilities")
    fresh.execute_script("arguments[0].scrollIntoView({block: 'center'})", plot)
    x, y = fresh.execute_script(
        "const l = arguments[0]._fullLayout, r = arguments[0].getBoundingClientRect();"
        "return [l.xaxis._offset + l.xaxis.d2p(1) - r.width / 2, l.yaxis._offset + 40 - r.height / 2]",
        plot,
    )
    ActionChains(fresh).move_to_element_with_offset(plot, x, y).perform()
    until(fresh, "return document.querySelector('#plot-probabilities .hoverlayer').textContent.includes('P(MAP)')")
    text = fresh.execute_script("return document.querySelector('#plot-probabilities .hoverlayer').textContent")
    assert drawn(fresh)[1] in text and "log evidence" in text and "rank 2 of 352" in text


def test_zooming_by_dragging_and_back(fresh):
    plot = by_id(fresh, "plot-probabilities")
    fresh.execute_script("arguments[0].scrollIntoView({block: 'center'})", plot)
    extent = "const r = document.getElementById('plot-probabilities').layout.xaxis.range; return r[1] - r[0]"
    before = fresh.execute_script(extent)
    ActionChains(fresh).move_to_element_with_offset(plot, -200, -120).click_and_hold().move_by_offset(
        300, 20
    ).release().perform()
    until(fresh, f"return (() => {{ {extent} }})() < {0.7 * before}")
    plot.send_keys("0")
    until(fresh, f"return (() => {{ {extent} }})() === {before}")


def test_the_figure_by_keyboard(fresh):
    plot = by_id(fresh, "plot-probabilities")
    extent = "const r = document.getElementById('plot-probabilities').layout.xaxis.range; return r[1] - r[0]"
    before = fresh.execute_script(extent)
    plot.send_keys(Keys.HOME)
    plot.send_keys(Keys.ARROW_RIGHT)
    assert fresh.execute_script("return document.getElementById('spoken').textContent").startswith(drawn(fresh)[1])
    assert fresh.execute_script("return document.querySelector('#plot-probabilities .hoverlayer').textContent") != ""
    plot.send_keys("+")
    until(fresh, f"return (() => {{ {extent} }})() < {0.6 * before}")
    plot.send_keys("0")
    until(fresh, f"return (() => {{ {extent} }})() === {before}")


def test_every_control_is_reached_by_tabulator(fresh):
    fresh.execute_script("document.querySelector('.skip').focus()")
    reached = []
    for _ in range(60):
        ActionChains(fresh).send_keys(Keys.TAB).perform()
        reached.append(
            fresh.execute_script(
                "const e = document.activeElement; return e.id || e.dataset.key || e.dataset.filter || e.className"
            )
        )
        if "position" in reached:
            break
    assert {"theme", "member", "order", "show", "log", "reset", "plot-probabilities", "size", "next", "rank"} <= set(
        reached
    )
    outline = fresh.execute_script("return getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"


def test_dark_and_light(fresh):
    ground = "return getComputedStyle(document.body).backgroundColor"
    ink = "return document.getElementById('plot-probabilities').layout.font.color"
    light = fresh.execute_script(ground), fresh.execute_script(ink)
    by_id(fresh, "theme").click()
    until(fresh, f"return (() => {{ {ink} }})() !== '{light[1]}'")
    assert by_id(fresh, "theme").text == "Light theme"
    assert sum(int(c) for c in fresh.execute_script(ground)[4:-1].split(",")) < 150
    by_id(fresh, "theme").click()
    until(fresh, f"return (() => {{ {ink} }})() === '{light[1]}'")
    assert fresh.execute_script(ground) == light[0]
    assert by_id(fresh, "theme").text == "Dark theme"


def test_the_page_on_a_phone_in_the_dark(show):
    browser = show("kinetic", 360, "dark")
    assert browser.execute_script("return document.documentElement.dataset.theme") == "dark"
    assert by_id(browser, "theme").text == "Light theme"
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 360
    wide = browser.execute_script(
        "return Array.from(document.querySelectorAll('.plot, section, .controls > *'))"
        ".filter(e => e.getBoundingClientRect().right > 360).length"
    )
    assert wide == 0
    assert len(drawn(browser)) == 10


def test_a_thousand_of_fifty_million(show):
    browser = show("screened")
    Select(by_id(browser, "size")).select_by_value("all")
    assert len(column(browser, 1)) == 1000
    Select(by_id(browser, "show")).select_by_value("all")
    until(browser, "return document.getElementById('plot-probabilities').data[2].x.length === 1000")
    assert "the most probable of 50,005,001" in by_id(browser, "count").text
    assert drawn(browser) == []
    quiet(browser)


def test_models_below_the_floor_of_the_logarithmic_axis_have_no_box(show):
    browser = show("hopeless")
    boxes = "return document.getElementById('plot-probabilities').data.slice(0, 2).map(t => t.x.length)"
    assert by_id(browser, "log").is_selected() and browser.execute_script(boxes) == [1, 1]
    assert "3 with a probability below 10⁻¹² have no box on this scale" in by_id(browser, "count").text
    by_id(browser, "log").click()
    until(browser, "return document.getElementById('plot-probabilities').data[0].x.length === 4")
    assert "no box" not in by_id(browser, "count").text
    quiet(browser)


def test_data_and_fitted_curves(show):
    browser = show("fitted")
    traces = "return Array.from(document.getElementById('plot-levels').data, t => [t.name || '', t.x.length])"
    first = dict(browser.execute_script(traces))
    assert {"{E7, E19}", "S*", "S"} <= set(first) and first["S*"] == 21
    Select(by_id(browser, "condition")).select_by_visible_text("late")
    until(browser, "return document.getElementById('plot-levels').data.at(-1).x.length === 11")
    quiet(browser)


def test_figures_beside_each_other_are_equally_high(show):
    """No hole beside a high figure, whatever the number of members; a curve of one round is not drawn."""
    cards = (
        "return Array.from(document.querySelectorAll('#figures > section'), s => s.getBoundingClientRect().toJSON())"
    )
    browser = show("kinetic")
    drawn = [card for card in browser.execute_script(cards) if card["height"]]
    assert len(drawn) == 3
    assert len({(card["top"], card["height"]) for card in drawn}) == 1
    plots = browser.execute_script(
        "return Array.from(document.querySelectorAll('#figures .plot'), p => p.getBoundingClientRect().height)"
    )
    assert max(plots) < 1.3 * min(plots)
    browser = show("single round")
    shown = [card for card in browser.execute_script(cards) if card["height"]]
    assert len(shown) == 1 and shown[0]["width"] > 1000
    assert not by_id(browser, "plot-history").is_displayed()


def test_one_model(show):
    browser = show("single")
    assert column(browser, 1) == ["only"]
    assert not by_id(browser, "plot-probabilities").is_displayed()


@pytest.mark.parametrize("width", [1280, 360])
def test_hostile_names_do_no_harm(show, width):
    browser = show("hostile", width)
    plot = by_id(browser, "plot-probabilities")
    Select(by_id(browser, "show")).select_by_value("all")
    for _ in HOSTILE:
        plot.send_keys(Keys.ARROW_RIGHT)
        browser.execute_script("return document.querySelector('#plot-probabilities .hoverlayer').innerHTML")
    with pytest.raises(NoAlertPresentException):
        _ = browser.switch_to.alert.text
    assert browser.execute_script("return window.harmed === undefined")
    foreign = (
        "img, iframe, object, embed, main a:not(.modebar-btn), main b, main i:not(.share i), svg a, [onload], [onerror]"
    )
    assert browser.find_elements(By.CSS_SELECTOR, foreign) == []
    assert browser.execute_script("return document.scripts.length") == 3
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    shown = column(browser, 1)
    for name in (
        "<b>bold</b>",
        "&lt;i&gt; &amp;",
        "<br>%{x}<extra>",
        "{<svg/onload=alert(3)>, </style>}",
        "line separator",
    ):
        assert name in shown
    labels = browser.execute_script(
        "return Array.from(document.querySelectorAll('#plot-probabilities .xtick text'), t => t.textContent)"
    )
    assert "<b>bold</b>" in labels and "{</style>}" in labels
    longest = browser.execute_script(
        "return Math.max(...Array.from(document.querySelectorAll('[title]'), e => e.title.length))"
    )
    assert 1000 < longest <= 2000
    quiet(browser)
