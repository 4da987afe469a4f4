"""A built-in population and small digits, so that everything can be tried without a download."""

from microtome.demo.digits import digit_images
from microtome.demo.population import population, population_schema, write_people

__all__ = ["digit_images", "population", "population_schema", "write_people"]
