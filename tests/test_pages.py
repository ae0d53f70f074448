"""The pages of the documentation in a real browser, where `make docs` has built them."""

import shutil
from pathlib import Path

import pytest

webdriver = pytest.importorskip("selenium.webdriver")
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

DOCS = Path(__file__).parents[1] / "docs"
ROOT = DOCS / "_build" / "html"


def fresh():
    """Whether the pages are there and younger than their sources."""
    built = ROOT / "index.html"
    sources = [*DOCS.glob("*.*"), *(DOCS / "_static").iterdir(), *DOCS.parent.glob("examples/*.py")]
    return built.exists() and max(path.stat().st_mtime for path in sources) <= (ROOT / "searchindex.js").stat().st_mtime


CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = [
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="chromium and chromedriver are not installed"),
    pytest.mark.skipif(not fresh(), reason="the pages are not built, or were before their sources changed: make docs"),
]
#: What is wider than the text of a page and does not scroll by itself.
OUTSIDE = """
const text = document.querySelector(".bd-article-container");
if (text === null) return [];
const edge = text.getBoundingClientRect().right + 1;
const scrolls = (e) => ["auto", "scroll", "hidden"].includes(getComputedStyle(e).overflowX);
const inside = (e) => { while ((e = e.parentElement) !== text) if (scrolls(e)) return true; return false; };
const box = (e) => e.getBoundingClientRect();
const wide = (e) => box(e).width && box(e).right > edge && !e.matches(".headerlink");
const words = (e) => e.tagName + ": " + e.textContent.trim().slice(0, 60);
return Array.from(text.querySelectorAll("*")).filter((e) => wide(e) && !inside(e)).map(words);
"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (
        "headless=new", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking",
        "disable-component-update", "disable-sync", f"user-data-dir={tmp_path_factory.mktemp('profile')}",
    ):  # fmt: skip
        options.add_argument(f"--{flag}")
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


def show(browser, page, width=1280, theme="light"):
    metrics = {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    media = {"features": [{"name": "prefers-color-scheme", "value": theme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    browser.get((ROOT / page).as_uri())


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_runs_out_of_a_page(browser, width):
    pages = [
        path.relative_to(ROOT) for folder in ("", "gallery", "generated/api") for path in (ROOT / folder).glob("*.html")
    ]
    assert len(pages) > 150
    wrong = {}
    for page in pages:
        show(browser, page, width)
        if outside := browser.execute_script(OUTSIDE):
            wrong[str(page)] = outside[:3]
    assert wrong == {}


def test_code_is_not_cut_on_a_desktop(browser):
    """Code that is run is seen whole: see the length of lines in test_docs_code.py and the columns in fwbq.css."""
    blocks = "return Array.from(document.querySelectorAll('.highlight-python pre'))"
    cut = f"{blocks}.filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.textContent.slice(0, 80))"
    for page in ("start.html", "evidence.html", "kernels.html", "designs.html", "looking.html"):
        show(browser, page)
        assert browser.execute_script(cut) == [], page


@pytest.mark.parametrize(
    ("words", "page"),
    [("lognormal", "Glossary"), ("thin MCMC", "Thinning a Markov chain"), ("Bayes factor", "Glossary")],
)
def test_the_search_finds(browser, words, page):
    browser.get((ROOT / "search.html").as_uri() + f"?q={words.replace(' ', '+')}")
    results = "#search-results ul.search li > a"
    WebDriverWait(browser, 20).until(lambda b: page in [a.text for a in b.find_elements(By.CSS_SELECTOR, results)])


def test_dark_pages_have_dark_figures(browser):
    show(browser, "index.html", theme="dark")
    assert browser.find_element(By.TAG_NAME, "html").get_attribute("data-theme") == "dark"
    style = "return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]"
    level = [int(v) for v in browser.execute_script(style, "body", "backgroundColor").strip("rgba()").split(",")[:3]]
    assert max(level) < 60
    shown = "return Array.from(document.querySelectorAll('.bd-article img')).filter((e) => e.offsetParent !== null)"
    assert {image.get_attribute("class") for image in browser.execute_script(shown)} == {"only-dark"}
    show(browser, "idea.html", theme="dark")
    assert "invert" in browser.execute_script(style, ".bd-article img", "filter")


def test_code_can_be_copied_and_its_source_read(browser):
    show(browser, "start.html")
    assert len(browser.find_elements(By.CSS_SELECTOR, "button.copybtn")) >= 6
    show(browser, "generated/api/fwbq.integrate.html")
    (link,) = browser.find_elements(By.PARTIAL_LINK_TEXT, "[source]")
    assert link.get_attribute("href").endswith("fwbq/integration/facade.html#integrate")


def test_cards_of_the_gallery_differ(browser):
    show(browser, "gallery/index.html")
    cards = browser.find_elements(By.CSS_SELECTOR, ".sphx-glr-thumbcontainer")
    pictures = [card.find_element(By.TAG_NAME, "img").get_attribute("src") for card in cards]
    assert len(cards) == len(set(pictures)) == len(list((Path(__file__).parents[1] / "examples").glob("*.py")))
    assert not any("no_image" in picture for picture in pictures)
    assert cards[0].text.startswith("Integrals of functions")
