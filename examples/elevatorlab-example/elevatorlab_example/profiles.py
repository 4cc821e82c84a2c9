"""A device profile: a card as cameras and small computers have it."""

from elevatorlab.plugins.profiles import Profile

#: 1 ms a request and 90 MiB/s are round numbers of its class (UHS-I).
PROFILES = {"sd_card": Profile(service_time_us=1000, parallelism=1, bandwidth_mib_s=90)}
