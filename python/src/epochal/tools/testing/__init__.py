"""``epochal.testing``: which promises of exactly-once reading a source keeps."""
