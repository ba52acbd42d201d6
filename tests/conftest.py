"""What every test shares."""

from hypothesis import settings

# The time of one example says more about the machine's other work than about ours.
settings.register_profile("nodetruth", deadline=None)
settings.load_profile("nodetruth")
