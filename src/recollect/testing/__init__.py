"""Published with the package: a suite for each port that others can implement, and fakes.

Responsible for the tests that every engine, and every witness or place for keys, must pass. Leaves
running the suites to pytest: subclass a suite and define the fixture it needs. Suites of ``Memory``
are among the project's own tests. Invariant: the rest of the package never imports this.
"""
