"""A memory of Markdown files for coding agents."""

__version__ = "0.1.0"
