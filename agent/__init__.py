"""Look at one machine, all day, and keep its Node true.

``probes`` look, ``newest`` keeps the latest answer of each, ``loop`` has the
Node say it, and ``log``, ``metrics`` and ``serve`` tell people what happened.
``run`` wires them together.
"""
