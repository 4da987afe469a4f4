"""A built-in population, a clinic and small digits, so that everything can be tried without a download."""

from microtome.demo.clinic import clinic, clinic_schema
from microtome.demo.digits import digit_images
from microtome.demo.population import population, population_schema, write_people

__all__ = ["clinic", "clinic_schema", "digit_images", "population", "population_schema", "write_people"]
