"""Schedulers, each broken in one way: the template fifo with a few words changed."""

import json
from pathlib import Path
from typing import NamedTuple

from elevatorlab.elevators import templates

TAKEN = "\tif (rq)\n\t\tlist_del_init(&rq->queuelist);\n"
LOCKED = "\tspin_lock(&data->lock);\n\tlist_for_each"
CHOSEN = "\trq = list_first_entry_or_null"
PREPARED = "\tINIT_LIST_HEAD(&data->requests);\n"
ALLOCATED = "\tdata = kzalloc_node(sizeof(*data), GFP_KERNEL, q->node);\n\tif (!data) {"
GIVEN_BACK = "\tkfree(data);\n}"
COMES_BACK = "\t\tif (at_head)\n"
SOME = "blk_rq_pos(rq) % 800 == 8"
ENTERS = "\t\tlist_del_init(&rq->queuelist);\n\t\tif (at_head)"
FIRST = "\trq = list_first_entry_or_null(&data->requests, struct request, queuelist);\n"
LOADED = "\treturn elv_register("
HOOKS = "\t.ops = {\n"
#: The condition of a statement: so many requests wait.
COUNTS = "\t\tif (list_count(&data->requests) >= %d) "


def _first(condition: str) -> str:
    """Return what takes the first request of a kind, and the first of all if there is none."""
    return (
        f"{FIRST}\tstruct request *one;\n\n\tlist_for_each_entry(one, &data->requests, queuelist)\n"
        f"\t\tif ({condition}) {{\n\t\t\trq = one;\n\t\t\tbreak;\n\t\t}}\n"
    )


#: What broken ones call. The kernel has the first function since 6.3.
HELPERS = """static inline unsigned int list_count(struct list_head *head)
{
	struct list_head *one;
	unsigned int count = 0;

	list_for_each(one, head)
		count++;
	return count;
}

/* Called with the number from before the change. By default, it is even. */
static inline void an_even_number_waited(struct blk_mq_hw_ctx *hctx)
{
	BUG_ON(hctx->queue->nr_requests % 2);
}

static inline void ended(struct request *rq, u64 now_ns)
{
	BUG_ON(blk_queue_dying(rq->q));
}

"""


class Broken(NamedTuple):
    """What is replaced by what in the template, the case that must fail, and what is said of it."""

    old: str
    new: str
    case: str
    named: str
    line: str = ""  # words of the line of its source that must be named, too


BROKEN = {
    "loses": Broken(
        TAKEN,
        f"{TAKEN}\tif (rq && {SOME})\n\t\trq = NULL;\n",
        "hands_each_request_out_once",
        "It was lost: the scheduler never handed it to the disk",
    ),
    "issues_twice": Broken(
        TAKEN,
        f"\tif (rq && !({SOME}))\n\t\tlist_del_init(&rq->queuelist);\n",
        "hands_each_request_out_once",
        "It issues a request twice",
    ),
    "sleeps": Broken(
        LOCKED,
        LOCKED.replace(";\n", ";\n\tfsleep(1000);\n", 1),
        "serves_one_at_a_time",
        "It sleeps where nobody may",
    ),
    "may_sleep": Broken(
        LOCKED,
        LOCKED.replace(";\n", ";\n\tkfree(kmalloc(64, GFP_KERNEL));\n", 1),
        "serves_one_at_a_time",
        "It calls what may sleep where nobody may: kmalloc",
        "kfree(kmalloc(64, GFP_KERNEL));",
    ),
    "leaks": Broken(GIVEN_BACK, "}", "unloads_cleanly", "objects of kmalloc-", "kzalloc_node("),
    "never_serves": Broken(
        "\treturn !list_empty_careful",
        "\treturn false && !list_empty_careful",
        "serves_one_at_a_time",
        "No request was ever handed to the disk",
    ),
    "oops_at_start": Broken(
        *(ALLOCATED, "\tdata = NULL;\n\tif (0) {"),
        *("is_selected", "It follows a NULL pointer"),
        "INIT_LIST_HEAD(&data->requests)",
    ),
    "wrong_symbol": Broken(
        PREPARED, f"{PREPARED}\tblk_mq_sched_free_rqs(q);\n", "builds", "blk_mq_sched_free_rqs"
    ),
    "loops": Broken(
        CHOSEN,
        "\tlocal_irq_disable();\n\twhile (READ_ONCE(data->requests.next))\n\t\t;\n" + CHOSEN,
        "serves_one_at_a_time",
        "It keeps the processor for ever",
    ),
    "loops_on": Broken(
        CHOSEN,
        "\tspin_unlock(&data->lock);\n\tfor (;;)\n\t\tcpu_relax();\n" + CHOSEN,
        "serves_one_at_a_time",
        "It keeps the processor for ever",
    ),
    "ignores_flush": Broken(
        PREPARED,
        f"{PREPARED}\tblk_queue_flag_clear(QUEUE_FLAG_WC, q);\n",
        "keeps_flushes",
        "The flush did not reach the disk",
    ),
    "ignores_fua": Broken(
        PREPARED,
        f"{PREPARED}\tblk_queue_flag_clear(QUEUE_FLAG_FUA, q);\n",
        "keeps_flushes",
        "0 were marked with FUA, on a disk that takes it",
    ),
    "feigns_fua": Broken(
        PREPARED,
        f"{PREPARED}\tblk_queue_flag_set(QUEUE_FLAG_FUA, q);\n",
        "keeps_flushes",
        "12 were marked with FUA, on a disk that takes no FUA",
    ),
    "drops_fua": Broken(
        COMES_BACK,
        f"{COMES_BACK}\t\t\trq->cmd_flags &= ~REQ_FUA;\n{COMES_BACK}",
        "keeps_flushes",
        "had FUA, and lost it after the driver had given it back",
    ),
    "uses_freed": Broken(
        GIVEN_BACK,
        "\tkfree(data);\n\tlist_del_init(&data->requests);\n}",
        "is_selected",
        "It uses memory after it was freed",
        "list_del_init(&data->requests);",
    ),
    "keeps_module": Broken(
        PREPARED,
        f"{PREPARED}\t__module_get(THIS_MODULE);\n",
        "is_selected",
        "References to the module are left (1)",
    ),
    "drops_65th": Broken(
        *(ENTERS, ENTERS.replace(";\n", ";\n" + COUNTS % 65 + "continue;\n", 1)),
        *("serves_a_full_queue", "It was lost: the scheduler never handed it to the disk"),
    ),
    "drops_500th": Broken(
        *(ENTERS, ENTERS.replace(";\n", ";\n" + COUNTS % 500 + "continue;\n", 1)),
        *("serves_a_full_queue", "It was lost: the scheduler never handed it to the disk"),
    ),
    "silent_65th": Broken(
        *(
            "\t\ttrace_block_rq_insert(rq);\n",
            f"{COUNTS % 65}continue;\n\t\ttrace_block_rq_insert(rq);\n",
        ),
        *("serves_a_full_queue", "requests that the scheduler never said had come in"),
    ),
    "silent": Broken(
        *("\t\ttrace_block_rq_insert(rq);\n", ""),
        *("hands_each_request_out_once", "requests that the scheduler never said had come in"),
    ),
    "reads_first": Broken(
        FIRST, _first("rq_data_dir(one) == READ"), "starves_nobody", "A write of 8 sectors"
    ),
    "writes_first": Broken(
        FIRST, _first("rq_data_dir(one) == WRITE"), "starves_nobody", "A read of 8 sectors"
    ),
    "flushless_load": Broken(
        *(ENTERS, COUNTS % 10 + "blk_queue_flag_clear(QUEUE_FLAG_WC, hctx->queue);\n" + ENTERS),
        *("keeps_flushes", "The flush did not reach the disk"),
    ),
    "leaks_loaded": Broken(
        *(ENTERS, COUNTS % 100 + "kzalloc(40, GFP_ATOMIC);\n" + ENTERS),
        *("unloads_cleanly", "objects of kmalloc-64 were never freed", "kzalloc(40"),
    ),
    "second_queue": Broken(
        *(ENTERS, "\t\tBUG_ON(rq->mq_hctx->queue_num > 0);\n" + ENTERS),
        *("serves_two_processors", "The kernel cannot go on", "BUG_ON("),
    ),
    "odd_depth": Broken(
        *(HOOKS, f"{HOOKS}\t\t.depth_updated = an_even_number_waited,\n"),
        *("changes_its_depth", "The kernel cannot go on", "BUG_ON(hctx->queue->nr_requests"),
    ),
    "busy_disk": Broken(
        *(PREPARED, f"{PREPARED}\tBUG_ON(waitqueue_active(&q->mq_freeze_wq));\n"),
        *("switches", "The kernel cannot go on", "BUG_ON(waitqueue_active"),
    ),
    "lost_disk": Broken(
        *(HOOKS, f"{HOOKS}\t\t.completed_request = ended,\n"),
        *("survives_a_lost_disk", "The kernel cannot go on", "BUG_ON(blk_queue_dying"),
    ),
    "no_lock": Broken(
        '#include "blk-mq-sched.h"\n',
        '#include "blk-mq-sched.h"\n#define spin_lock(lock)\n#define spin_unlock(lock)\n',
        *("serves_two_processors", "A list is damaged"),
    ),
    "holds_back": Broken(
        FIRST,
        f"{FIRST}\tif (rq && blk_rq_pos(rq) % 64 == 8 && "
        "ktime_get_ns() < rq->start_time_ns + 1500000000ULL) {\n"
        "\t\tblk_mq_delay_run_hw_queue(hctx, 100);\n\t\trq = NULL;\n\t}\n",
        *("serves_one_at_a_time", "the scheduler holds it back"),
    ),
    "writes_ports": Broken(
        LOADED,
        '\tasm volatile("outb %%al, $0xf4" : : "a"(0x10));\n' + LOADED,
        "stays_in_the_block_layer",
        "it has the instruction out in writes_ports-iosched.c",
    ),
    "opens_files": Broken(
        LOADED,
        '\tfilp_open("/dev/ttyS1", O_WRONLY, 0);\n' + LOADED,
        "stays_in_the_block_layer",
        "it calls or reads filp_open",
    ),
    "plain_address": Broken(
        LOADED,
        "\t((void (*)(void))0xffffffff81234560UL)();\n" + LOADED,
        "stays_in_the_block_layer",
        "as a number",
    ),
    "irqs_off": Broken(
        CHOSEN,
        "\tif (list_count(&data->requests) == 60) {\n\t\tunsigned long flags;\n\n"
        "\t\tlocal_irq_save(flags);\n\t\tmdelay(20);\n\t\tlocal_irq_restore(flags);\n\t}\n"
        + CHOSEN,
        *("serves_a_full_queue", "It keeps interrupts off for", "local_irq_restore(flags)"),
    ),
    "polls": Broken(
        "\treturn !list_empty_careful",
        "\tudelay(40);\n\tblk_mq_delay_run_hw_queue(hctx, 1);\n\treturn !list_empty_careful",
        *("serves_one_at_a_time", "it polls"),
    ),
    "leaks_pages": Broken(
        *(ENTERS, COUNTS % 100 + "__get_free_pages(GFP_ATOMIC, 2);\n" + ENTERS),
        *("unloads_cleanly", "pages that were never freed", "__get_free_pages("),
    ),
    "leaks_percpu": Broken(
        PREPARED,
        f"{PREPARED}\tif (!alloc_percpu(int))\n\t\treturn -ENOMEM;\n",
        *("unloads_cleanly", "pages that were never freed", "alloc_percpu("),
    ),
    "module_kept": Broken(
        *(ENTERS, COUNTS % 100 + "__module_get(THIS_MODULE);\n" + ENTERS),
        *("unloads_cleanly", "References to the module are left"),
    ),
    "another_name": Broken(
        '\t.elevator_name = "another_name",\n',
        '\t.elevator_name = "a_third_name",\n',
        *("loads", "brings no scheduler another_name"),
    ),
    "ends_long_ones": Broken(
        ENTERS,
        "\t\tif (blk_rq_sectors(rq) >= 128 && op_is_write(req_op(rq))) {\n"
        "\t\t\tlist_del_init(&rq->queuelist);\n"
        "\t\t\tblk_mq_start_request(rq);\n\t\t\tblk_mq_end_request(rq, BLK_STS_OK);\n"
        "\t\t\tcontinue;\n\t\t}\n" + ENTERS,
        *("keeps_data", "does not read back"),
    ),
    "takes_the_first": Broken(
        "\t\ttrace_block_rq_insert(rq);\n\t}",
        "\t\ttrace_block_rq_insert(rq);\n\t\tbreak;\n\t}",
        *("merges", "It was lost: the scheduler never handed it to the disk"),
    ),
    "comes_back": Broken(
        *(COMES_BACK, f"\t\tBUG_ON(at_head);\n{COMES_BACK}"),
        *("takes_requests_back", "The kernel cannot go on", "BUG_ON(at_head)"),
    ),
    "starves": Broken(
        "list_add_tail(&rq->queuelist, &data",
        "list_add(&rq->queuelist, &data",
        "starves_nobody",
        "it starves",
    ),
}


def folder(name: str, into: Path) -> Path:
    """Write the folder of a broken scheduler."""
    made = templates.new(name, "fifo", into)
    broken = BROKEN[name]
    source = made / f"{name}-iosched.c"
    text = source.read_text()
    assert text.count(broken.old) == 1, name
    text = text.replace(broken.old, broken.new)
    source.write_text(
        text.replace(
            "#include <linux/list.h>",
            "#include <linux/delay.h>\n#include <linux/fs.h>\n#include <linux/list.h>\n"
            "#include <linux/percpu.h>",
        ).replace(f"struct {name}_data {{", f"{HELPERS}struct {name}_data {{", 1)
    )
    (made / "scheduler.json").write_text(json.dumps({"name": name}))
    return made
