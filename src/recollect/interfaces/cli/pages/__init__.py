"""The memory as Markdown."""
