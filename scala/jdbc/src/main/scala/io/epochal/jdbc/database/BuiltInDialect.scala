package io.epochal.jdbc.database

/** A dialect of Epochal's own: ranked after users' dialects. */
private[jdbc] trait BuiltInDialect { this: Dialect => }
