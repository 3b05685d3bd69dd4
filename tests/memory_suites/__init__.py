"""The suites of ``Memory``: what it does on every engine, by plain API, async API and client.

Responsible for behaviour. Leaves what to run them on to the tests that subclass them, and the
suites of the ports, which engines of others pass too, to ``recollect.testing``.
"""
