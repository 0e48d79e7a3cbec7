"""report.html in a browser without a window: what a person sees, and that a hostile run does nothing."""
import html
import html.parser
import json
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from conftest import PASS, octlm

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "testing"))
import sample_runs  # noqa: E402

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
SAMPLES = ("green", "red", "not_run", "exploratory", "hostile", "killed", "large")
browser = pytest.mark.skipif(CHROMIUM is None, reason="not run: no chromium on PATH")


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The page of a sample, made once."""
    made = {}

    def of(name):
        if name not in made:
            folder = getattr(sample_runs, name)(tmp_path_factory.mktemp("samples") / name)
            assert octlm("report", folder).returncode == PASS
            made[name] = folder / "report.html"
        return made[name]

    return of


def chromium(*arguments):
    done = subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
                           "--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND", *arguments],
                          capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done


def probed(page, script, width=1280, height=1000, *arguments):
    """What `script` returns inside the page, shown in a frame of this size (a window is at least 500 wide).

    The page allows no script, so the frame holds it without its policy.
    """
    text = page.read_text()
    policy = re.search(r'<meta http-equiv="Content-Security-Policy"[^>]*>', text)
    assert policy
    frame = page.with_name("frame.html")
    frame.write_text(f"""<!doctype html><html><meta charset="utf-8"><body style="margin:0"><iframe width="{width}" height="{height}" style="border:0"
        srcdoc="{html.escape(text.replace(policy.group(), ""))}"></iframe><script>onload = () => {{
        const page = document.querySelector('iframe').contentWindow;
        document.documentElement.dataset.probe = JSON.stringify(new page.Function({json.dumps(script)})()) }}</script>""")
    dom = chromium(*arguments, f"--window-size={max(width, 500)},{height}", "--dump-dom", frame.as_uri()).stdout
    return json.loads(html.unescape(re.search(r'<html data-probe="([^"]*)"', dom).group(1)))


class Tags(html.parser.HTMLParser):
    """Checks that elements nest, and collects what could fetch or run something."""
    VOID = {"meta", "br", "hr", "wbr", "line", "rect", "path", "circle"}  # and polyline, which has a title

    def __init__(self):
        super().__init__()
        self.open, self.bad, self.ids, self.links = [], [], [], []

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id":
                self.ids.append(value)
            if name == "href" and value.startswith("#") and tag == "a":
                self.links.append(value[1:])
                continue
            if name.startswith("on") or name in ("src", "href", "srcset", "action", "style", "ping", "data"):
                self.bad.append((tag, name))
        if tag in ("script", "link", "img", "iframe", "object", "embed", "base", "form", "video", "audio", "use", "image"):
            self.bad.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open and self.open[-1] == tag, (tag, self.open)
            self.open.pop()


@pytest.mark.parametrize("name", SAMPLES)
def test_the_page_is_well_formed_and_refers_to_nothing(page, name):
    text = page(name).read_text()
    tags = Tags()
    tags.feed(text)
    assert tags.open == [] and tags.bad == []
    assert len(set(tags.ids)) == len(tags.ids)
    assert set(tags.links) <= set(tags.ids), "a link leads to a place on the page"
    style = re.search(r"<style>(.*?)</style>", text, re.S).group(1)
    assert "url(" not in style and "@import" not in style
    assert "default-src 'none'; style-src 'unsafe-inline'" in text


@browser
@pytest.mark.parametrize("name, verdict", [
    ("green", "octlm 1a2b3c4 (cpu) matches transformers 4.57.6 (live) in 60 of 60 comparisons."),
    ("red", "does not match"), ("not_run", "Nothing was compared."), ("exploratory", "none of which counts."),
    ("killed", "This run did not end."), ("large", "does not match")])
@pytest.mark.parametrize("width, height", [(1280, 1000), (390, 844)])
def test_the_verdict_is_seen_first_and_nothing_overflows(page, name, verdict, width, height):
    seen = probed(page(name), """
        const h = document.querySelector('h1'), box = h.getBoundingClientRect();
        return {text: h.innerText, bottom: box.bottom, high: innerHeight, wide: document.documentElement.scrollWidth,
                width: innerWidth, badge: document.querySelector('.badge').innerText}""", width, height)
    assert verdict in seen["text"]
    assert seen["bottom"] < seen["high"] and seen["wide"] <= seen["width"], seen
    assert re.match(r"[✓✕!◌○] \w+", seen["badge"]), "a symbol and a word"


@browser
def test_a_green_first_screen_holds_everything_in_order(page):
    tops = probed(page("green"), """
        return ['coverage', 'rulers', 'tightest', 'trust', 'changes', 'command']
            .map(id => document.getElementById(id).getBoundingClientRect().top)""")
    assert tops == sorted(tops) and tops[-1] < 1000, tops


@browser
def test_both_top_5_lists_are_one_click_away(page):
    shown = probed(page("green"), """
        const d = document.querySelector('.s-tightest details'), t = d.querySelector('table');
        const before = t.checkVisibility(); d.querySelector('summary').click();
        return [before, t.checkVisibility(), d.querySelectorAll('tbody tr').length]""")
    assert shown == [False, True, 10]


@browser
@pytest.mark.parametrize("width", [1280, 390])
def test_tables_scroll_and_do_not_break_words(page, width):
    lines, wide = probed(page("green"), """
        document.querySelectorAll('details').forEach(d => d.open = true);
        const words = [...document.querySelectorAll('.experiment td')].filter(t => t.textContent == "float32");
        return [words.map(t => { const r = document.createRange(); r.selectNodeContents(t); return r.getClientRects().length }),
                document.documentElement.scrollWidth]""", width)
    assert lines and set(lines) == {1} and wide <= width


@browser
@pytest.mark.parametrize("width", [1400, 390])
@pytest.mark.parametrize("name", ["green", "red"])
def test_labels_of_the_drawings_keep_apart_and_inside(page, name, width):
    """With every experiment opened: no two labels of a drawing overlap, none is cut off, nothing is wider than the page."""
    bad, charts, wide = probed(page(name), """
        document.querySelectorAll('details').forEach(d => d.open = true);
        const bad = [], charts = [...document.querySelectorAll('svg.chart')];
        for (const chart of charts) {
          const labels = [...chart.querySelectorAll('text.label')].map(t => [t.textContent, t.getBoundingClientRect()]);
          labels.forEach(([a, p], i) => {
            if (p.left < 0 || p.right > innerWidth) bad.push(['outside', a, p.left, p.right]);
            labels.slice(i + 1).forEach(([b, q]) => {
              if (p.left < q.right - 1 && q.left < p.right - 1 && p.top < q.bottom - 3 && q.top < p.bottom - 3) bad.push([a, b]) }) });
        }
        return [bad, charts.length, document.documentElement.scrollWidth]""", width, 3000)
    assert bad == [] and charts >= 4 and wide <= width


@browser
def test_an_experiment_is_one_click_away_from_the_grid(page):
    shown = probed(page("green"), """
        const link = document.querySelector('.grid a'), to = document.getElementById(link.getAttribute('href').slice(1));
        return [link.getAttribute('href'), to.tagName, to.querySelector('summary b').innerText]""")
    assert shown[0] == "#" + shown[2] and shown[1] == "DETAILS"


@browser
def test_text_can_be_read_in_light_and_dark(page):
    """4.5:1 between text and what is behind it, for every element that shows text of its own."""
    script = """
        const channel = v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
        const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
        const numbers = c => c.match(/[\\d.]+/g).map(Number);
        const behind = e => { for (; e; e = e.parentElement) { const c = numbers(getComputedStyle(e).backgroundColor);
                              if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
        let worst = [99, ''];
        for (const e of document.querySelectorAll('main *')) {
          if (![...e.childNodes].some(n => n.nodeType == 3 && n.data.trim()) || e.closest('svg') || !e.checkVisibility()) continue;
          const a = light(numbers(getComputedStyle(e).color)) + 0.05, b = light(behind(e)) + 0.05;
          const ratio = Math.max(a, b) / Math.min(a, b);
          if (ratio < worst[0]) worst = [ratio, e.className + ' ' + e.innerText.slice(0, 40)];
        }
        return worst"""
    for name in ("green", "red", "exploratory"):
        for scheme in (1, 0):  # light, dark
            worst = probed(page(name), script, 1280, 1000, f"--blink-settings=preferredColorScheme={scheme}")
            assert worst[0] >= 4.5, (name, scheme, worst)


@browser
def test_a_hostile_run_executes_nothing(page):
    """The page as it is, and again without its policy: escaping alone must be enough."""
    dom = chromium("--dump-dom", page("hostile").as_uri()).stdout
    assert "owned" not in re.search(r"<title>.*?</title>", dom, re.S).group()[:20]
    seen = probed(page("hostile"), """
        return [document.title, document.scripts.length, document.images.length,
                performance.getEntriesByType('resource').length]""")
    assert seen[0].startswith("octlm: ") and seen[1:] == [0, 0, 0]


@browser
def test_the_policy_stops_what_escaping_would_have_missed(page):
    """Seen working: a script put into the page by hand does not run."""
    text = page("green").read_text().replace("</main>", "<script>document.title = 'owned'</script></main>")
    planted = page("green").with_name("planted.html")
    planted.write_text(text)
    assert "<title>owned" not in chromium("--dump-dom", planted.as_uri()).stdout
