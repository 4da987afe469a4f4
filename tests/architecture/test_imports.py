"""Who may import whom, and what is public."""

import ast
import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
from source_code import parsed, read

import microtome

PACKAGE = Path(microtome.__file__).parent
PRIVATE = sorted((PACKAGE / "private").rglob("*.py"))
PRIVACY_CORE = PRIVATE + sorted((PACKAGE / "accounting").glob("*.py"))


def in_a_fresh_process(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_import_contracts_hold() -> None:
    command = [sys.executable, "-c", "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports())"]
    done = subprocess.run(command, cwd=PACKAGE.parents[1], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "0 broken" in done.stdout


def test_public_names_are_these_and_all_resolve() -> None:
    assert {"Column", "Ledger", "Release", "Schema", "draft_schema", "release"} <= set(microtome.__all__)
    for name in microtome.__all__:
        assert callable(getattr(microtome, name)), name
        assert name in dir(microtome)
    with pytest.raises(AttributeError, match="no attribute 'disabled_dp'"):
        microtome.disabled_dp  # noqa: B018


@pytest.mark.parametrize(
    "package", ["accounting", "auditing", "evaluation", "forecasting", "schema", "private", "published", "demo"]
)
def test_names_of_the_packages_resolve(package: str) -> None:
    module = import_module(f"microtome.{package}")
    assert module.__all__ == sorted(module.__all__, key=lambda name: (not name.isupper(), not name[0].isupper(), name))
    for name in module.__all__:
        assert getattr(module, name) is not None


def test_the_private_half_loads_without_torch_and_pandas() -> None:
    code = "import sys, microtome.private; print([name for name in ('torch', 'pandas') if name in sys.modules])"
    assert in_a_fresh_process(code) == "[]"


def test_holding_a_release_loads_no_private_code() -> None:
    code = (
        "import sys, microtome as mt; mt.Release; print([name for name in sys.modules if 'microtome.private' in name])"
    )
    assert in_a_fresh_process(code) == "[]"


def test_importing_leaves_global_random_state_alone() -> None:
    code = (
        "import random, numpy as np\n"
        "before = random.getstate(), np.random.get_state()[1].tolist()\n"
        "import microtome.private\n"
        "print(before == (random.getstate(), np.random.get_state()[1].tolist()))"
    )
    assert in_a_fresh_process(code) == "True"


@cache
def calls(path: Path) -> list[tuple[str, str]]:
    """(enclosing function, called name) of all calls in a file."""
    found = []

    def visit(node: ast.AST, inside: str) -> None:
        for child in ast.iter_child_nodes(node):
            name = child.name if isinstance(child, ast.FunctionDef) else inside
            if isinstance(child, ast.Call):
                called = child.func.attr if isinstance(child.func, ast.Attribute) else getattr(child.func, "id", "")
                found.append((name, called))
            visit(child, name)

    visit(parsed(read(path)), "")
    return found


def test_noise_is_added_in_one_place() -> None:
    """Gaussian numbers are drawn for rows and for counts in one function each, and for directions in two others."""
    drawn = {
        (path.name, inside)
        for path in PRIVATE
        for inside, called in calls(path)
        if ("normal" in called and called not in ("normalize", "utf8_normalize")) or called == "discrete_gaussian"
    }
    assert drawn == {
        ("randomness.py", "add_gaussian_noise"),
        ("randomness.py", "noisy_counts"),
        ("randomness.py", "haar_columns"),
        ("slicing.py", "draw_directions"),
    }
    used = {(path.name, inside) for path in PRIVATE for inside, called in calls(path) if called == "add_gaussian_noise"}
    assert used == {("slicing.py", "__call__")}


def test_one_door_turns_records_into_a_release() -> None:
    """One maker, one writer, one reservation, one place where a pass is asked for what it counted."""

    def callers(name: str) -> list[tuple[str, str]]:
        return [(path.name, inside) for path in PRIVATE for inside, called in calls(path) if called == name]

    assert set(callers("ContainerWriter")) == {("door.py", "_write")}
    assert callers("Manifest") == [("door.py", "_manifest")]
    assert callers("reserved") == [("door.py", "release")]
    assert {path for path, _ in callers("Published")} == {
        "table_source.py",
        "pair_passes.py",
        "searching.py",
        "image_source.py",
        "linked_passes.py",
    }


@pytest.mark.parametrize("path", PRIVATE, ids=lambda path: path.name)
def test_no_randomness_but_our_own_in_private(path: Path) -> None:
    tree = parsed(read(path))
    parameters = [
        argument.arg
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.Lambda)
        for argument in (*node.args.args, *node.args.kwonlyargs)
    ]
    keywords = [node.arg for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg]
    assert not [name for name in (*parameters, *keywords) if "seed" in name or name == "random_state"]
    forbidden = {"default_rng", "RandomState", "shuffle", "seed", "loads", "eval", "exec"}
    by_floats = {"random", "binomial", "hypergeometric", "multivariate_hypergeometric", "poisson", "uniform"}
    assert not [called for _, called in calls(path) if called in forbidden | by_floats]


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_nothing_is_pickled(path: Path) -> None:
    names = {
        alias.name.split(".")[0]
        for node in ast.walk(parsed(read(path)))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in (node.names if isinstance(node, ast.Import) else [ast.alias(name=node.module or "")])
    }
    assert not names & {"pickle", "cloudpickle", "dill", "joblib", "marshal", "shelve"}


def test_the_privacy_core_stays_reviewable() -> None:
    assert all(len(path.read_text(encoding="utf-8").splitlines()) <= 400 for path in PRIVACY_CORE)


def test_no_machine_paths_in_the_repository() -> None:
    root = PACKAGE.parents[1]
    for folder in (PACKAGE, root / "tests"):
        for path in folder.rglob("*.py"):
            assert "/" + "work/" not in path.read_text(encoding="utf-8"), path
