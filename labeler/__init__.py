"""Decide what a Node should say, and say it.

Read in this order: ``vocabulary`` (the words), ``facts`` (what was seen of the
machine), ``seen`` (what the Node says now), ``rules`` and ``evidence``, then
``desired`` (facts in, labels and taints out), ``diff`` (desired against seen),
``reconcile`` (the one straight line) and the doors: ``cluster`` over ``api``,
or ``manifest``.

Everything up to and including ``diff`` is pure: no clock, no file, no socket.
"""
