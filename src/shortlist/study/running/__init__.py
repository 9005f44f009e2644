"""Running a study: executors, calls of the objective, and the progress line."""
