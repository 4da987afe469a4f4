"""What a user might pick instead of Microtome, each behind the same three methods.

Two environments run them: the project's own for what we wrote ourselves, and ``.venv-baselines`` for packages that
pin old versions of ours (``make bench-env`` builds it). Nothing here is imported by the library.
"""
