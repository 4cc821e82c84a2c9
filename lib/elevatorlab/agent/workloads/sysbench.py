"""MariaDB and the program that spams rows into it, each row a transaction of its own."""

from __future__ import annotations

import pathlib
import random
import re
from typing import TYPE_CHECKING

from ..errors import AgentError
from ..observe.device_idle import IdleWatch
from ..observe.sampler import IDLE, IO_WAIT, read_cpu
from .base import Workload

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

DATABASE = "sbtest"

# sysbench is the client, too: the environment needs no other one.
ASK = """\
sysbench.cmdline.options = {sql = {"the statement"}}
local function connection() return sysbench.sql.driver():connect() end
local function tell() connection():query(sysbench.opt.sql) end
local function ask()
   local answer = connection():query(sysbench.opt.sql)
   for _ = 1, answer.nrows do
      print(table.concat({unpack(answer:fetch_row(), 1, answer.nfields)}, "\\t"))
   end
end
sysbench.cmdline.commands = {ask = {ask}, tell = {tell}}
"""

# sysbench 1.0's own limit of time has whole seconds only, and it knows no warm-up. A thread ends
# when its event returns true.
TIMED_INSERT = """\
require("oltp_insert")
sysbench.cmdline.options.milliseconds = {"how long each thread inserts", 1000}
local ffi, insert, ends_s = require("ffi"), event, nil
ffi.cdef("typedef struct {long s, ns;} moment; int clock_gettime(int clock, moment *now);")
local now = ffi.new("moment")
function event()
   ffi.C.clock_gettime(1, now)  -- CLOCK_MONOTONIC
   local now_s = tonumber(now.s) + tonumber(now.ns) / 1e9
   ends_s = ends_s or now_s + sysbench.opt.milliseconds / 1000
   if now_s >= ends_s then return true end
   insert()
end
"""

#: Places of the counters in ``/sys/class/block/DEVICE/stat`` (Documentation/block/stat.rst).
#: Kernels older than 5.5 do not count flushes.
STAT = {"reads": 0, "writes": 4, "write_sectors": 6, "busy_ms": 9, "flushes": 15}

STOP_LIMIT_S = 60


class SysbenchInsert(Workload):
    """A MariaDB server in the group, its data on the device, and sysbench's ``oltp_insert``.

    The server makes its data directory itself, on the device under test, when it first starts. It
    is one without accounts (``--skip-grant-tables``) and without a network: what the inserts meet
    is InnoDB, and its redo log.
    """

    process: int | None = None

    def prepare(self) -> None:
        """Start the server and make the table."""
        self.watch = IdleWatch(self.device, self.context)
        given = self.specification
        started = self.worker.call(
            "start_server",
            argv=self.server(),
            files={
                self.path("ask.lua"): ASK,
                self.path("timed_insert.lua"): TIMED_INSERT,
                self.path("init.sql"): f"CREATE DATABASE {DATABASE};\n",
            },
            folders=[self.path("data")],
            address=self.path("mysql.sock"),
            log=self.path("error.log"),
            limit_s=given["start_limit_s"],
        )
        if "problem" in started:
            raise AgentError(
                f"the database server {started['problem']}; expected it to come up within "
                f"{given['start_limit_s']:g} s on {self.device}. Its log ends:\n{started['log']}"
            )
        self.process = started["process"]
        self._fill_log()
        buffering = "ON" if given["log_file_buffering"] else "OFF"
        found = self._ask("VARIABLES", "innodb_log_file_buffering")
        self.context.proofs.compare("innodb_log_file_buffering", buffering, found)
        self._sysbench("oltp_insert", "--table-size=1", "--create-secondary=off", command="prepare")

    def _fill_log(self) -> None:
        """Have each block of the redo log written once, by a copy of the log over itself.

        MySQL's server of 2008 filled a new log with zeros ("Database physically writes the file
        full"), and in steady state any log has been written before. MariaDB only reserves the
        blocks, so the first write of each would wait for the file system's journal, too.
        """
        log, process = f"{self.path('data')}/ib_logfile0", self.process
        copy = f"dd if={log} of={log} bs=1M conv=notrunc,fsync"
        script = f"kill -STOP {process} && {copy}; copied=$?; kill -CONT {process}; exit $copied"
        run = self.worker.call("run", argv=["sh", "-c", script])
        if run["status"]:
            raise AgentError(
                f"the database server's redo log could not be written full: expected {copy} to end "
                f"with status 0; found {run['status']}: {run['errors'].strip()}"
            )

    def server(self) -> list[str]:
        """Return the server's command line.

        Without asynchronous I/O, which a container's engine may forbid: the log is written
        synchronously in any case, and all testbeds shall do the same.
        """
        given = self.specification
        return [
            *("mariadbd", "--no-defaults", "--user=root", "--skip-grant-tables"),
            *("--skip-networking", f"--socket={self.path('mysql.sock')}"),
            *(f"--datadir={self.path('data')}", f"--tmpdir={self.path('data')}"),
            *(f"--pid-file={self.path('data')}/pid", f"--init-file={self.path('init.sql')}"),
            f"--innodb-buffer-pool-size={given['buffer_pool_mib']}M",
            f"--innodb-log-file-size={given['log_mib']}M",
            f"--innodb-log-file-buffering={'ON' if given['log_file_buffering'] else 'OFF'}",
            *("--innodb-use-native-aio=OFF", "--innodb-stats-persistent=OFF"),
            *("--innodb-buffer-pool-dump-at-shutdown=OFF", "--performance-schema=OFF"),
            *("--key-buffer-size=1M", "--aria-pagecache-buffer-size=8M"),
        ]

    def run(self) -> None:
        """Run the phases one after the other, then end the server."""
        self.set_to, self.fsyncs = 1, self._fsyncs()
        self.phases = [
            self._phase(number, phase)
            for number, phase in enumerate(self.specification["phases"], start=1)
        ]
        status = self.worker.call("stop_server", process=self.process, limit_s=STOP_LIMIT_S)
        if status != 0:
            ending = (
                f"with status {status}" if status else f"only when killed after {STOP_LIMIT_S} s"
            )
            raise AgentError(
                f"the database server ended {ending}; expected a clean end. Its log ends:\n"
                + self._log()
            )

    def _phase(self, number: int, phase: Mapping[str, Any]) -> dict[str, Any]:
        self._set(phase["flush_log_at_trx_commit"])
        if phase["warm_up_s"]:
            self._insert(phase["threads"], phase["warm_up_s"], f"{self.seed}/{number}/warm-up")
            self.fsyncs = self._fsyncs()
        before, cpu = self._counters(), read_cpu()
        self.watch.start()
        text = self._insert(phase["threads"], phase["duration_s"], f"{self.seed}/{number}")
        watched = self.watch.stop()
        spent = [after - then for then, after in zip(cpu, read_cpu())]
        counted = {name: value - before[name] for name, value in self._counters().items()}
        (self.raw / f"{self.name}.{number}.sysbench.txt").write_text(text)
        found, fsyncs = parse(text), self.fsyncs
        # The kernel's own count of the time is by far the coarser one.
        busy_s = counted["busy_ms"] / 1000 if watched["busy_s"] is None else watched["busy_s"]
        self.fsyncs = self._fsyncs()
        return {
            **phase,
            **found,
            **counted,
            **watched,
            "fsyncs": self.fsyncs - fsyncs,
            "utilization_ratio": min(1.0, busy_s / found["duration_s"]),
            "cpu_busy_ratio": 1 - (spent[IDLE] + spent[IO_WAIT]) / sum(spent)
            if any(spent)
            else None,
        }

    def _insert(self, threads: int, duration_s: float, seed: str) -> str:
        """Insert rows for a time; return sysbench's report."""
        return self._sysbench(
            self.path("timed_insert.lua"),
            *("--table-size=1", f"--threads={threads}", "--histogram", "--time=0", "--events=0"),
            f"--milliseconds={round(1000 * duration_s)}",
            f"--rand-seed={random.Random(seed).randrange(1, 2**31)}",
            command="run",
        )

    def _set(self, flush: int) -> None:
        if flush != self.set_to:
            sql = f"--sql=SET GLOBAL innodb_flush_log_at_trx_commit={flush}"
            self._sysbench(self.path("ask.lua"), sql, command="tell")
            self.set_to = flush

    def _sysbench(self, script: str, *options: str, command: str) -> str:
        """Run sysbench against the server; return what it printed."""
        target = [f"--mysql-socket={self.path('mysql.sock')}", "--mysql-user=root"]
        argv = ["sysbench", script, *target, f"--mysql-db={DATABASE}", *options, command]
        run: dict[str, Any] = self.worker.call("run", argv=argv)
        if run["status"]:
            said = [line for key in ("output", "errors") for line in run[key].splitlines()]
            said = [line for line in said if "FATAL" in line]
            raise AgentError(
                f"sysbench ended with status {run['status']} "
                f"({said[0].strip() if said else 'see log.txt'}); expected all rows to be "
                "inserted. The database server's log ends:\n" + self._log()
            )
        return str(run["output"])

    def _fsyncs(self) -> int:
        """Return how often InnoDB has asked for its files to be on the device."""
        return int(self._ask("STATUS", "Innodb_data_fsyncs"))

    def _ask(self, kind: str, name: str) -> str:
        """Return one of the server's VARIABLES, or of what it counts (STATUS)."""
        sql = f"--sql=SHOW GLOBAL {kind} LIKE '{name}'"
        text = self._sysbench(self.path("ask.lua"), sql, command="ask")
        found: str = re.findall(rf"^{name}\t(\w+)$", text, re.MULTILINE | re.IGNORECASE)[0]
        return found

    def _counters(self) -> dict[str, int]:
        fields = pathlib.Path("/sys/class/block", self.device, "stat").read_text().split()
        return {name: int(fields[at]) for name, at in STAT.items() if at < len(fields)}

    def _log(self) -> str:
        return str(self.worker.call("tail", log=self.path("error.log")))

    def measurements(self) -> dict[str, Any]:
        return {"phases": self.phases}


def parse(text: str) -> dict[str, Any]:
    """Return the figures of one ``sysbench --histogram run``.

    These are ``commits``, ``duration_s``, ``tps``; latencies in milliseconds: ``latency_mean_ms``,
    ``latency_max_ms``, and percentiles, each the upper end of a bar of the histogram.
    """
    if len(re.findall(_COMMITS, text)) > 1:
        raise AgentError(
            "sysbench reports more than once, and of a part of the run each time; expected one "
            "report of the whole run. Leave out report-checkpoints"
        )
    ignored = re.findall(r"ignored errors: +(\d+)", text)
    if any(map(int, ignored)):
        raise AgentError(
            f"sysbench passed over {ignored[0]} errors, whose requests it sent again; expected "
            "none. Leave out mysql-ignore-errors to see the first one"
        )
    bars = [(float(value), int(count)) for value, count in re.findall(BAR, text, re.MULTILINE)]
    try:
        commits = int(re.findall(_COMMITS, text)[0])
        duration_s = float(re.findall(r"total time: +([\d.]+)s", text)[0])
        mean_ms = float(re.findall(r"avg: +([\d.]+)", text)[0])
        max_ms = float(re.findall(r"max: +([\d.]+)", text)[0])
        percentiles = {f"latency_p{p}_ms": percentile(bars, p) for p in (50, 95, 99)}
        tps = commits / duration_s
    except (ValueError, IndexError, ZeroDivisionError) as problem:
        raise AgentError(
            "sysbench's report is not whole: expected its histogram and statistics, found "
            f"{len(text)} characters that end in {text[-40:]!r} ({type(problem).__name__}). "
            "It needs --histogram and at least one commit; else see log.txt"
        ) from None
    return {
        **{"commits": commits, "duration_s": duration_s, "tps": tps},
        **{"latency_mean_ms": mean_ms, "latency_max_ms": max_ms, **percentiles},
    }


_COMMITS = r"total number of events: +(\d+)"
BAR = r"^ +(\d+\.\d+) \|\** +(\d+)$"


def percentile(bars: Sequence[tuple[float, int]], percent: float) -> float:
    """Return the value of the bar in which `percent` of all counts are reached."""
    needed, seen = sum(count for _, count in bars) * percent / 100, 0
    for value, count in bars:
        seen += count
        if seen >= needed:
            return value
    raise IndexError("no bars")
