"""docs/accuracy.md: marked sections, <!-- begin NAME --> to <!-- end NAME -->. Each script rewrites its own and leaves
everything else as it is, so that other scripts and people keep theirs."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "accuracy.md"
PAGE_START = """# Accuracy

How far a strict replay is from the measurement: no residuals, only dependencies, host times, kernel times and the few
calibrated constants. `make accuracy` rewrites the tables. Definitions are those of `lumos replay --json`.
"""


def with_section(page, name, text):
    """`page` with the body of section `name` replaced, or the section added at the end."""
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    body = f"{begin}\n{text}\n{end}"
    if begin in page and end in page:
        before, rest = page.split(begin, 1)
        return before + body + rest.split(end, 1)[1]
    return page.rstrip("\n") + "\n\n" + body + "\n"


def write_sections(sections):
    """Rewrites the sections [(name, text)] of the page."""
    page = PAGE.read_text() if PAGE.exists() else PAGE_START
    for name, text in sections:
        page = with_section(page, name, text)
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page)
