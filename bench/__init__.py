"""Measure what the README promises in figures: one command, real processes, a real API server.

``row`` is one figure with its target; a figure's module has a function that
takes a ``Stage`` and returns rows; ``__main__`` lists the figures and runs them.
An agent at rest that differs from the others is a ``Resident``, listed in ``rest``.
"""
