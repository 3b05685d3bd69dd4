"""The memory as Markdown: shown, edited, read back and kept short."""
