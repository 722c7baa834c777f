"""Environment of the tests: stub APIs, databases, and jobs that can be killed."""
