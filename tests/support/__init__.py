"""What the tests run against: an API that does as it is told, databases, and jobs that can be killed."""
