"""Where studies are kept: in memory, in a file (SQLite) or on a server (PostgreSQL)."""
