"""Where a study is kept: SQLite in a file, or PostgreSQL."""
