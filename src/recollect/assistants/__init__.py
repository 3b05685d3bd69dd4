"""Memory for assistants: two memories at once, briefings for prompts, capture of sessions.

Responsible for what all interfaces for assistants share. Leaves each memory to ``memory`` and the
protocols to ``interfaces``.
"""
