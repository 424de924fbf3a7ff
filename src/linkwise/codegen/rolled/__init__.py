"""Programs that keep their loops over bodies, for long robots: each step traced once per joint kind."""
