"""What an assistant sees: two memories at once, briefings for its prompts, capture of its sessions.

Responsible for what every way in for assistants shares. Leaves each memory to ``memory``, the
protocols to ``interfaces``.
"""
