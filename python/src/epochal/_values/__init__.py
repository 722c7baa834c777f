"""Values that group related options. The public names are in ``epochal``, ``epochal.rest`` and ``epochal.jdbc``."""
