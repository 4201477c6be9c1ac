"""Files on disk: where memory lies, how it is written whole or not at all, Git, and layers."""
