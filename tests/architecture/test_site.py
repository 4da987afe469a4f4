"""The site is built without a warning, and loads nothing from outside."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LOADED = re.compile(r"""<(?:script|link|img|iframe)[^>]*(?:src|href)=["'](https?:)?//|@import|url\(["']?https?:""")


def test_the_gallery_shows_what_is_made_for_it() -> None:
    page = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    script = (ROOT / "docs" / "site" / "gallery.py").read_text(encoding="utf-8")
    shown = set(re.findall(r"\.\./([\w.-]+)-(?:public|private)\.html", page))
    epsilons = re.search(r"EPSILONS = \((.*?)\)", script)
    assert epsilons is not None
    assert shown == {f"town-{one.strip()}" for one in epsilons[1].split(",")} | {"digits-5", "clinic-5"}


def test_every_page_has_a_place_in_the_site() -> None:
    trees = re.findall(r"```\{toctree\}\n(.*?)```", (ROOT / "docs" / "index.md").read_text(encoding="utf-8"), re.DOTALL)
    listed = {line for tree in trees for line in tree.splitlines()}
    pages = {page.stem for page in (ROOT / "docs").glob("*.md")} - {"index"}
    assert sorted(pages - listed) == []


@pytest.mark.slow
def test_the_site_is_built_without_a_warning_and_loads_nothing_from_outside(tmp_path: Path) -> None:
    pytest.importorskip("sphinx", reason="Sphinx is not installed")
    (ROOT / "build" / "gallery").mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-c", "docs/site", "-b", "html"]
    doctrees = ["-d", str(tmp_path / "doctrees")]
    done = subprocess.run(
        [*command, *doctrees, ".", str(tmp_path / "site")], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    for page in (*(tmp_path / "site").rglob("*.html"), *(tmp_path / "site").rglob("*.css")):
        if not page.name.endswith(("-public.html", "-private.html")):  # reports have tests of their own
            found = LOADED.search(page.read_text(encoding="utf-8"))
            assert found is None, f"{page}: {found}"
