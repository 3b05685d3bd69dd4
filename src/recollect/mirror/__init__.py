"""Pages: a memory as Markdown, one page for each entity.

Responsible for pages as pure text: which page shows which records, its bytes, and what a page that
was read back says. Leaves files to ``store.pages`` and records to ``memory``. Invariants: the same
records give the same bytes; reading never fails and loses nothing.
"""
