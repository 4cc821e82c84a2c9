"""Delay, rate and queue of the cable between an NVMe/TCP host and its target."""

import re

import pytest

from elevatorlab.agent.devices import link
from elevatorlab.agent.errors import AgentError

TEN = {"rate_gbit_s": 10, "delay_us": 35, "queue_packets": 1000}


def test_a_link_that_holds_its_numbers():
    link.check(link.Measured(35, 10), TEN, "port")
    link.check(link.Measured(35 + link.DELAY_BOUND_US, 9.6), TEN, "port")


@pytest.mark.parametrize(
    "delay_us, rate_gbit_s, said",
    [
        (34.9, 10, "a message from port takes 34.9 us over the link; expected 35 to 40. Run"),
        (40.1, 10, "a message from port takes 40.1 us over the link; expected 35 to 40. Run"),
        (36, 9.4, "the link carries 9.4 Gb/s from port; expected 10 within 5%. Run"),
        (36, float("inf"), "the link carries inf Gb/s from port; expected 10 within 5%. Run"),
    ],
)
def test_a_link_that_misses_its_numbers_fails_the_trial(delay_us, rate_gbit_s, said):
    with pytest.raises(AgentError, match=re.escape(said)):
        link.check(link.Measured(delay_us, rate_gbit_s), TEN, "port")
