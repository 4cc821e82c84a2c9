"""The paced disk's model, as a pure function of arrivals, and the disk itself on this machine."""

import pytest

from elevatorlab.agent.devices.paced_disk import Pace

SERVER = {
    "service_us": 1000,
    "service": "constant",
    "bandwidth_kib_s": 0,
    "accept_us": None,
    "seed": 1,
}


def pace(**changes):
    return Pace({**SERVER, **changes})


def test_an_idle_server_takes_its_time():
    assert pace().answered_at(5.0, 4096, True) == pytest.approx(5.001)


def test_a_busy_server_is_waited_for():
    disk = pace()
    disk.answered_at(5.0, 4096, True)
    assert disk.answered_at(5.0004, 4096, True) == pytest.approx(5.002)
    assert disk.answered_at(9.0, 4096, True) == pytest.approx(9.001)


def test_bytes_take_time():
    assert pace(bandwidth_kib_s=1024).answered_at(0.0, 512 << 10, True) == pytest.approx(0.501)


def test_a_memory_answers_before_the_write_is_served():
    disk = pace(accept_us=200)
    assert disk.answered_at(1.0, 4096, True) == pytest.approx(1.0002)
    # The memory is free again when the server is: at 1.0012.
    assert disk.answered_at(1.0003, 4096, True) == pytest.approx(1.0012)


def test_a_read_is_never_answered_from_the_memory():
    assert pace(accept_us=200).answered_at(1.0, 4096, False) == pytest.approx(1.001)


def test_exponential_service_has_the_same_mean_and_its_own_spread():
    disk = pace(service="exponential")
    ends = [disk.answered_at(10.0 * n, 4096, True) - 10.0 * n for n in range(20_000)]
    mean = sum(ends) / len(ends)
    variance = sum((end - mean) ** 2 for end in ends) / len(ends)
    assert mean == pytest.approx(0.001, rel=0.03)
    assert variance / mean**2 == pytest.approx(1, rel=0.06)


def test_another_seed_draws_other_service_times():
    first, same, other = (
        pace(service="exponential", seed=seed).answered_at(0.0, 4096, True) for seed in (1, 1, 2)
    )
    assert first == same != other


def test_the_account_holds_what_was_served_and_not_what_waits():
    disk = pace(accept_us=0)
    disk.answered_at(0.0, 4096, True)
    assert disk.account(0.0004) == pytest.approx(
        {"time_s": 0.0004, "busy_s": 0.0004, "requests": 1}
    )
    assert disk.account(7.0) == pytest.approx({"time_s": 7.0, "busy_s": 0.001, "requests": 1})
