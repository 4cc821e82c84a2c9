"""What a module can reach beyond the block layer: symbols that it imports, and instructions.

A module runs inside the machine that checks it. One that writes to ports, opens files or calls
the kernel behind the linker's back could forge what that machine says. So the host looks at the
module before it is loaded, and names all that no scheduler needs.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from ...errors import NotReady
from . import kernel_log

#: Symbols of the kernel that a scheduler may import, as regular expressions of whole names.
ALLOWED = re.compile(
    "|".join(
        (
            # the block layer, and contexts and groups of whom a request belongs to
            r"elv_\w+|elevator_alloc|blk_mq_\w+|blk_queue_\w+",
            r"blk_stat_\w+|blk_op_str|blk_bio_list_merge|__blk_req_\w+|blk_req_\w+",
            r"ioc_\w+|(get|put)_io_context|blkc?g_\w+|css_\w+|io_cgrp_\w+|cgroup_\w+",
            # memory
            r"k[mvz]?m?alloc\w*|__kmalloc\w*|kv?free\w*|krealloc\w*|kmem_cache_\w+|mempool_\w+",
            r"kstrdup\w*|kmemdup\w*|v[mz]alloc\w*|vfree|(__)?alloc_pages\w*|__get_free_pages",
            r"get_zeroed_page|(__)?free_pages|(__)?alloc_percpu\w*|__alloc_percpu\w*|free_percpu",
            r"page_offset_base|vmemmap_base|phys_base",
            # lists, trees, sets, and numbers
            r"(__)?l?list_\w+|(__)?rb_\w+|(__)?xa_\w+|radix_tree_\w+|id[ar]_\w+|rhashtable_\w+",
            r"rht_\w+|(__)?sbitmap_\w+|(__)?bitmap_\w+|_?find_\w+_bit\w*|sort|hweight\w+|__sw_hweight\w+",
            r"get_random_\w+|prandom_\w+|(__)?percpu_\w+|jhash\w*|int_sqrt\w*|__?div\w+",
            # locks, waiting, time, and work for later
            r"_raw_\w*(lock|unlock)\w*|(__)?mutex_\w+|down_\w+|up_\w+|(__)?init_rwsem|(__)?s?rcu_\w+",
            r"__init_\w+|call_rcu|synchronize_s?rcu\w*|kvfree_call_rcu|refcount_\w+",
            r"(__)?init_(wait|srcu|swait|rwsem|timer)\w*|wait_for_completion\w*|complete\w*",
            r"__wake_up\w*|wake_up_\w+|(prepare_to|finish)_wait\w*|autoremove_wake_function",
            r"schedule\w*|__cond_resched\w*|msleep\w*|usleep_range\w*|__(const_)?[un]delay",
            r"jiffies\w*|\w+_(to|from)_jiffies|jiffies_to_\w+|ktime_\w+|(sched|local|cpu)_clock",
            r"hrtimer_\w+|(mod|add)_timer\w*|del_timer\w*|timer_\w+|(__)?queue_(delayed_)?work\w*",
            r"flush_(delayed_)?work|cancel_\w*work\w*|mod_delayed_work\w*|delayed_work_timer_fn",
            r"system_\w*wq|alloc_workqueue|destroy_workqueue|(__)?(flush|drain)_workqueue",
            r"kthread_\w+|irq_work_\w+|(__)?tasklet_\w+|on_each_cpu\w*|smp_call_function\w*",
            r"(__)?cpuhp_\w+|cpus_read_(un)?lock",
            # text, and files in sysfs and debugfs
            r"seq_\w+|single_(open|release)|sysfs_emit\w*|sysfs_streq|kstrto\w+|simple_strto\w+",
            r"v?s[cn]*printf|sscanf|str\w+|mem(cpy|move|set|cmp|chr|scan)\w*|__mem\w+|kobject_\w+",
            r"debugfs_create_\w+|debugfs_(lookup|remove)|_printk|___ratelimit|__warn_printk",
            r"__dynamic_pr_debug|dump_stack",
            # what the compiler and the kernel's headers put into any module
            r"__fentry__|__x86_\w+|__stack_chk_fail|__preempt_count|__SC[TK]__\w+|__tracepoint_\w+",
            r"trace_\w+|__trace_\w+|perf_trace_\w+|bpf_trace_run\d+|param_\w+|__ubsan_\w+",
            r"module_put|__module_get|try_module_get|this_cpu_off|__per_cpu_offset|cpu_number",
            r"__cpu_\w+_mask|__num_online_cpus|nr_cpu_ids|node_states|current_task|pv_ops",
            r"static_key_\w+|__jump_label\w+|__this_cpu_preempt_check",
        )
    )
)

#: Instructions that talk to devices or rule the processor. Disabling interrupts (cli) is none.
_RULES = re.compile(
    r"\b(in|out|(rep[a-z]* +)?(ins|outs)[bwl]?|(rd|wr)msr|(l|s)[gil]dt\w*|l?tr|invlpg|hlt|int|"
    r"iret\w*|sys(call|enter|exit|ret)\w*|vm(call|mcall|run|load|save)|wbinvd|swapgs|clac|stac)\b"
    r"|\bmov\w* +.*%(cr|db)\d"
)

#: Addresses of the kernel's code or memory as plain numbers. An honest module has none: its linker
#: fills them in when it is loaded.
_ADDRESS = re.compile(r"0xffff[89a-e][0-9a-f]{11}\b|0xffffffff(?!80000000)[89a-c][0-9a-f]{7}\b")

_CODE = re.compile(r"^ *(?P<offset>[0-9a-f]+):\t(?P<text>[^#<]*)")
_SECTION = re.compile(r"^Disassembly of section (\S+):")


def beyond(module: Path, with_lines: Path) -> list[str]:
    """Return what a module reaches beyond the block layer; one clause for each.

    `module`: The module that the kernel loads. `with_lines`: The same module, with the lines of its
    source (DWARF).
    """
    imported = (line.split()[-1] for line in said("nm", "--undefined-only", str(module)))
    symbols = sorted(name for name in imported if not ALLOWED.fullmatch(name))
    listing = said("objdump", "--disassemble", "--no-show-raw-insn", str(module))
    return [f"it calls or reads {name}" for name in symbols] + list(
        instructions(listing, with_lines)
    )


def instructions(listing: list[str], with_lines: Path) -> Iterator[str]:
    """Yield a clause for each instruction of a listing (objdump) that reaches beyond."""
    section, seen = "", set()
    for line in listing:
        if begins := _SECTION.match(line):
            section = begins[1]
        code = _CODE.match(line)
        if not code or section.startswith(".altinstr"):  # the kernel's own, of its headers
            continue
        if rules := _RULES.search(code["text"].strip()):
            what = f"it has the instruction {' '.join(rules[0].split())}"
        elif address := _ADDRESS.search(code["text"]):
            what = f"it has the kernel's address {address[0]} as a number"
        else:
            continue
        at = kernel_log.place(with_lines, section, int(code["offset"], 16))
        clause = f"{what} in {at or section}"
        if clause not in seen:
            seen.add(clause)
            yield clause


def said(*command: str) -> list[str]:
    """Return the lines that a program of binutils prints."""
    if shutil.which(command[0]) is None:
        raise NotReady(
            f"the check reads modules with {command[0]}, which is missing",
            "Install binutils: environments/host-setup.sh",
        )
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    return run.stdout.splitlines()
