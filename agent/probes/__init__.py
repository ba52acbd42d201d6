"""Look at the machine: one file a subject, one plain function a probe.

A probe reads the trees that ``Roots`` names, returns a fact or ``Unknown``, and
does nothing else: no clock, no log, no retry. Its period, its deadline and the
firewall around it are the caller's. A reason never holds a number that changes.
"""
