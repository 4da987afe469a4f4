"""What is public about a table, and the code between its rows and vectors in the unit ball."""

from microtome.schema.aside import Action, Aside
from microtome.schema.category_code import CategoryCode
from microtome.schema.cells import OTHER, CategoryCells, Cells, NumberCells
from microtome.schema.code_kinds import code_from_counts
from microtome.schema.codebook import Block, Codebook, largest_dim
from microtome.schema.column import Column, Outside
from microtome.schema.column_code import CellCounts, ColumnCode, stratified
from microtome.schema.dialect import Dialect
from microtome.schema.document import Schema
from microtome.schema.grid import initial_cells
from microtome.schema.kind import DTYPES, Kind
from microtome.schema.linked import LinkedSchema
from microtome.schema.linked_table import Cardinality, LinkedTable, Parent
from microtome.schema.margins import COARSE, FINE, WIDE, Fineness, for_width, project_to_simplex
from microtome.schema.number_code import NumberCode
from microtome.schema.public_table import PublicTable
from microtome.schema.rounding import Rounding
from microtome.schema.rounding_classes import RoundingClasses, rounding_classes
from microtome.schema.unit import Unit

__all__ = [
    "COARSE",
    "DTYPES",
    "FINE",
    "OTHER",
    "WIDE",
    "Action",
    "Aside",
    "Block",
    "Cardinality",
    "CategoryCells",
    "CategoryCode",
    "CellCounts",
    "Cells",
    "Codebook",
    "Column",
    "ColumnCode",
    "Dialect",
    "Fineness",
    "Kind",
    "LinkedSchema",
    "LinkedTable",
    "NumberCells",
    "NumberCode",
    "Outside",
    "Parent",
    "PublicTable",
    "Rounding",
    "RoundingClasses",
    "Schema",
    "Unit",
    "code_from_counts",
    "for_width",
    "initial_cells",
    "largest_dim",
    "project_to_simplex",
    "rounding_classes",
    "stratified",
]
