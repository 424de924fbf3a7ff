"""Pictures. Everything here needs the extra ``plot`` and loads matplotlib when used."""
