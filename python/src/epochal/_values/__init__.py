"""The values that say what belongs together. Public names are in ``epochal``, ``epochal.rest`` and ``epochal.jdbc``."""
