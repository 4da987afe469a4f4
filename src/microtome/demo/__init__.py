"""A built-in population, so that everything can be tried without a download."""

from microtome.demo.population import population, population_schema

__all__ = ["population", "population_schema"]
