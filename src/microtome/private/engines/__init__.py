"""Whoever counts the rows of a table where they are, so that only counts come here: a cluster, a database."""
