"""The inspector: a memory in the browser.

Start reading at ``table``: it lists every page and every act. A page reads a memory in one worker
thread and returns a view, which its template shows. Responsible for showing; leaves every rule to
``memory``. Invariants: nothing that a memory holds can become markup or script; without a session
nothing of a memory is shown; it works without JavaScript.
"""
