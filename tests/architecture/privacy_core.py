"""What has to be read to trust a release, in which order, and how long that is.

A file moves from tier to tier, or out of the core, here. The budgets in ``test_privacy_core.py`` only go down.
"""

from __future__ import annotations

from pathlib import Path

from source_code import code_lines, read
from tracing import PACKAGE

PACKAGES = ("accounting", "private")
"""Every file of these belongs to a tier. Files of other packages that see bare records belong to the first."""

FIRST_TIER = {
    "accounting/neighbours.py": "which two tables are hard to tell apart, and what a record may change",
    "accounting/events.py": "what can be done to the data, as records",
    "accounting/gaussian.py": "the privacy profile of a Gaussian mechanism",
    "accounting/directions.py": "what slices let through of a row",
    "accounting/projection_law.py": "the law of that, integrated",
    "accounting/divergence.py": "pairs of outputs, sliced and subsampled",
    "accounting/privacy_profile.py": "the exact profile of a composition",
    "accounting/inversion.py": "root search that errs upwards",
    "accounting/ranges.py": "which numbers are refused",
    "accounting/accountant.py": "δ of ε, and ε of δ",
    "accounting/calibration.py": "the noise that a promise needs",
    "settings.py": "what can be promised",
    "private/plan.py": "what each pass costs, from public facts",
    "private/discrete_gaussian.py": "noise of counts, drawn exactly",
    "private/randomness.py": "where noise comes from, and the one place where it is added",
    "private/table.py": "the table, block by block",
    "private/key_texts.py": "when two keys are one",
    "private/opening.py": "files, data sets and frames as tables",
    "private/parquet.py": "Parquet files, or some of their row groups, as tables",
    "private/stored_file.py": "which files these are, and whether they changed",
    "private/arrow_stream.py": "what gives its rows once, as batches",
    "private/spool.py": "a private copy of what can be read only once",
    "schema/dialect.py": "how a text file is written, and its reader",
    "schema/sheet.py": "a workbook's sheet as texts",
    "schema/notation.py": "a number, or a truth value, in a format of its own",
    "schema/time_format.py": "a date, or a time, in a format of its own",
    "private/weighting.py": "what a row counts for where a person has several",
    "private/row_choice.py": "which rows of a person are kept",
    "private/partitions.py": "rows on disk, all of a person in one part",
    "private/people.py": "people and their rows",
    "private/cell_index.py": "a value's cell",
    "schema/cells.py": "the cells",
    "schema/edge_guide.py": "a number's interval, by its leading bits",
    "schema/rounding_classes.py": "a number's rounding class",
    "private/histograms.py": "counts of values, one a record",
    "private/profile_budget.py": "how histograms share what they may cost",
    "private/domain.py": "what a search asks and finds",
    "private/searching.py": "the passes before the profile",
    "private/profile.py": "the profile: histograms of all columns",
    "schema/codebook.py": "a record as a vector in the unit ball",
    "private/second_round.py": "which tables of three columns are counted next",
    "private/joint_counts.py": "how often levels of a few columns occur together",
    "private/pair_counts.py": "how often levels of two columns occur together",
    "private/aggregating.py": "the second pass of aggregates: tables of pairs",
    "private/table_weights.py": "how these share the budget",
    "schema/fixed_point.py": "arithmetic that is the same for a record wherever it stands",
    "private/slicing.py": "the second pass of records: slices",
    "private/shuffling.py": "rows in random order",
    "accounting/ledger.py": "what was spent, what is left",
    "private/reservation.py": "one reservation a release",
    "private/passes.py": "what a pass is",
    "private/sliced_rows.py": "noisy rows of a table",
    "private/level_tally.py": "counts of levels, filled with rows",
    "private/likeness.py": "when another release's codebook may be used",
    "private/pair_passes.py": "tables of pairs and of three columns, as passes",
    "private/table_source.py": "the passes over a table",
    "private/door.py": "the door: everything above, in order",
}
"""Where a mistake breaks the promise of a release of a table."""

SECOND_TIER = {
    "api.py": "the public function",
    "private/number_search.py": "what to ask next of undeclared numbers, by noisy answers alone",
    "private/value_search.py": "the same of common numbers",
    "private/category_search.py": "the same of undeclared categories",
    "private/linked_opening.py": "several tables, opened",
    "private/linked_people.py": "people and everything behind, of several tables",
    "private/weighted_rows.py": "records on disk by what they count for",
    "private/linked_passes.py": "views of several tables, measured side by side",
    "private/linked_source.py": "the passes over several tables",
    "private/key_checks.py": "refusal of linked tables whose keys do not fit together",
    "private/pipeline.py": "blocks on several threads",
    "private/memory.py": "refusal of what does not fit; memory that is kept for the next block",
    "accounting/account.py": "how a data set stands",
    "accounting/ledger_records.py": "the book, record by record",
    "accounting/ledger_file.py": "the book on disk",
    "accounting/ledger_place.py": "which file the book is, and whose turn",
    "accounting/loss_distribution.py": "compositions without a closed form",
    "accounting/merging.py": "compositions of hundreds of parts",
    "accounting/renyi.py": "Rényi divergences",
    "accounting/paper.py": "Theorem 1 and Proposition 3 of the paper, and all accountants side by side",
    "accounting/default_delta.py": "the δ of whoever gives none",
    "accounting/verification.py": "whether a stated promise is kept",
    "accounting/__init__.py": "names",
    "private/__init__.py": "names",
}
"""What else a release of a table may go through: options, files, other accountants."""

DRAFTING = {
    "private/draft.py": "a schema from a table, which nobody has confirmed",
    "private/look.py": "what a column's values are like",
    "private/meanings.py": "ways in which texts may be meant",
    "private/naming.py": "keys, names of people and free text",
    "private/linked_draft.py": "a schema from several tables: what hangs on what",
    "private/sniffing.py": "the dialect of a file, guessed",
    "private/first_rows.py": "how many rows there are, and the first of them, for the holder",
}
"""What looks at a table for its holder and publishes nothing: no release goes through it."""

ENGINES = {
    "private/engines/sent_counts.py": "what was counted elsewhere, as bytes",
    "private/engines/spark_jobs.py": "what all jobs on a Spark frame share",
    "private/engines/spark_messages.py": "what tasks send, each partition once",
    "private/engines/spark.py": "a Spark frame, counted by its executors",
    "private/engines/spark_files.py": "files of a Spark frame, which executors read for themselves",
    "private/engines/spark_daemon.py": "workers that have this package loaded",
    "private/engines/shared_key.py": "how executors get the key of their noise",
    "private/engines/spark_packing.py": "rows of a Spark frame, held by its executors",
    "private/engines/spark_people.py": "people of a Spark frame, brought together by its executors",
    "private/engines/spark_rows.py": "noisy rows of a Spark frame, made and written by its executors",
    "private/engines/sql_asked.py": "which queries can be released",
    "private/engines/sql_dialect.py": "how databases write what differs between them",
    "private/engines/sql_questions.py": "cells, levels, classes and buckets as SQL",
    "private/engines/sql_people.py": "people of a query, and the rows that are kept of them, as SQL",
    "private/engines/sql_queries.py": "the queries, as text",
    "private/engines/sql.py": "a query, counted by its database",
    "private/engines/sql_connection.py": "the same on a connection of its own",
    "private/engines/__init__.py": "names",
}
"""Who else counts a table. What they count is compared with the first tier's counts, whose noise is none of theirs."""

BEYOND_TABLES = {
    "private/image_rows.py": "private images",
    "private/image_plan.py": "what each pass over images costs",
    "private/image_tally.py": "sums over images",
    "private/image_source.py": "the passes over images",
    "private/batches.py": "private batches of training that looks at every step",
}
"""What only images and adaptation need."""

TIERS = {
    "first tier": FIRST_TIER,
    "second tier": SECOND_TIER,
    "drafting": DRAFTING,
    "engines": ENGINES,
    "images and adaptation": BEYOND_TABLES,
}


def core_files() -> list[str]:
    """All files of the packages of the core."""
    found = [path for name in PACKAGES for path in sorted((PACKAGE / name).rglob("*.py"))]
    return [path.relative_to(PACKAGE).as_posix() for path in found]


def lines_of(file: str) -> int:
    """Lines of code of a file of the package."""
    return code_lines(read(PACKAGE / Path(file)))


def lines_of_tier(name: str) -> int:
    """Lines of code of a tier."""
    return sum(lines_of(file) for file in TIERS[name])
