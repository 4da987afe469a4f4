"""The program in docs/linked-tables.md runs, and does what the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "linked-tables.md"


@pytest.mark.slow
def test_the_program_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert found is not None
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(found[1].replace("4_000", "1_000"), names)
    synthetic, visits = names["synthetic"], names["visits"]
    assert set(synthetic) == {"patients", "visits", "prescriptions", "practices"}  # type: ignore[call-overload]
    assert len(visits) == len(synthetic["visits"]) > 1_000  # type: ignore[arg-type, index]
    assert (tmp_path / "clinic.html").stat().st_size > 0


def test_the_document_of_the_page_is_read(tmp_path: Path) -> None:
    from microtome.schema import LinkedSchema

    found = re.search(r"```yaml\n(microtome-linked.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert found is not None
    (tmp_path / "practices.csv").write_text("practice,place\n1,Harbour\n2,Old Mill\n", encoding="utf-8")
    schema = LinkedSchema.loads(found[1], folder=tmp_path)
    assert schema.names == ["patients", "visits"]
    assert schema.root.schema["practice"].categories == (1, 2)
