"""History: a session's log as an agent sees it, what is owed in it, and how it is sealed."""
