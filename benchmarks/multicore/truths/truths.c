// SPDX-License-Identifier: GPL-2.0-only
/*
 * What processors must do, whatever models them: each experiment has an answer that is known.
 *
 * An experiment is written to the parameter `run`; its figures are read there afterwards. Each
 * worker has a processor to itself. One instruction is one nanosecond and one tick of the
 * time-stamp counter, so `work(2000)` takes 2000 of each.
 */
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/prandom.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/vmalloc.h>

#define MOST 32

struct worker {
	int number;
	u64 began, ended, count;
};

/* Experiment: how many workers, and what its own numbers are. */
static int workers;
static u64 given[3];
static void (*experiment)(struct worker *worker);

static struct worker team[MOST];
static atomic_t arrived, present;
static struct completion over;
static DEFINE_MUTEX(one_at_a_time);
static char answer[200];

static __always_inline void work(u64 instructions)
{
	u64 loops = instructions / 2 ?: 1;

	asm volatile("1: dec %0\n\tjnz 1b" : "+r"(loops) : : "cc");
}

/* Wait for all the others, as often as it is called. */
static void meet(void)
{
	int turn = atomic_inc_return(&arrived);
	int whole = roundup(turn, workers);

	while (atomic_read(&arrived) < whole)
		cpu_relax();
}

static int run_worker(void *which)
{
	struct worker *worker = which;

	meet();
	worker->began = rdtsc();
	experiment(worker);
	worker->ended = rdtsc();
	if (atomic_dec_and_test(&present))
		complete(&over);
	return 0;
}

/* Independent work: given[0] instructions each. */
static void compute(struct worker *worker)
{
	work(given[0]);
}

/* One lock: given[0] instructions in it, given[1] outside, for given[2] ns. */
static DEFINE_SPINLOCK(lock);

static void contend(struct worker *worker)
{
	u64 until = worker->began + given[2];

	while (rdtsc() < until) {
		spin_lock(&lock);
		work(given[0]);
		spin_unlock(&lock);
		work(given[1]);
		worker->count++;
	}
}

/* Amdahl's law: given[0] instructions by one, given[1] divided among all, given[2] times. */
static void amdahl(struct worker *worker)
{
	u64 time;

	for (time = 0; time < given[2]; time++) {
		if (!worker->number)
			work(given[0]);
		meet();
		work(given[1] / workers);
		meet();
	}
}

/*
 * One queue: customers come every given[0] ns, are served in given[1] ns, both means of
 * distributions without memory, given[2] of them. A server takes the next customer and waits for
 * him to come.
 */
static u64 *comes, *takes, *waited;
static u64 opened;
static atomic_t next;

static u64 without_memory(struct rnd_state *chance, u64 mean)
{
	u64 parts = 1;

	while (prandom_u32_state(chance) & 63)
		parts++;
	return parts * mean / 64;
}

static void serve(struct worker *worker)
{
	u64 customer, now;

	if (!worker->number)
		WRITE_ONCE(opened, rdtsc());
	meet();
	while ((customer = atomic_inc_return(&next) - 1) < given[2]) {
		while ((now = rdtsc()) < opened + comes[customer])
			cpu_relax();
		waited[customer] = now - opened - comes[customer];
		work(takes[customer]);
	}
}

/* The same customers, by arithmetic: what they wait where each free server takes the next one. */
static u64 must_wait(void)
{
	u64 free_at[MOST] = {}, sum = 0, customer;
	int i, first;

	for (customer = 0; customer < given[2]; customer++) {
		for (first = 0, i = 1; i < workers; i++)
			if (free_at[i] < free_at[first])
				first = i;
		free_at[first] = max(free_at[first], comes[customer]);
		sum += free_at[first] - comes[customer];
		free_at[first] += takes[customer];
	}
	return sum;
}

static bool expect_customers(void)
{
	struct rnd_state chance;
	u64 customer, time = 0;

	comes = vmalloc(given[2] * 3 * sizeof(u64));
	if (!comes)
		return false;
	takes = comes + given[2];
	waited = takes + given[2];
	prandom_seed_state(&chance, 1);
	for (customer = 0; customer < given[2]; customer++) {
		time += without_memory(&chance, given[0]);
		comes[customer] = time;
		takes[customer] = without_memory(&chance, given[1]);
	}
	atomic_set(&next, 0);
	return true;
}

/* Interrupts: given[0] round trips from the first processor to each other one's. */
static void nothing(void *unused)
{
}

static void interrupt(struct worker *worker)
{
	u64 time;

	if (!worker->number)
		for (time = 0; time < given[0]; time++)
			smp_call_function_single(1, nothing, NULL, 1);
}

/* Two that wake each other, given[0] round trips: what a futex or a pipe does in the kernel. */
static struct completion ball[2];

static void wake(struct worker *worker)
{
	u64 time;

	if (worker->number > 1)
		return;
	for (time = 0; time < given[0]; time++) {
		if (worker->number)
			wait_for_completion(&ball[1]);
		complete(&ball[!worker->number]);
		if (!worker->number)
			wait_for_completion(&ball[0]);
	}
}

static const struct {
	const char *name;
	void (*of)(struct worker *worker);
} experiments[] = {
	{ "compute", compute }, { "lock", contend }, { "amdahl", amdahl },
	{ "queue", serve }, { "interrupt", interrupt }, { "wake", wake },
};

static int perform(void)
{
	u64 began = U64_MAX, ended = 0, count = 0, wait = 0, must = 0, customer;
	int i;

	if (experiment == serve && !expect_customers())
		return -ENOMEM;
	init_completion(&over);
	init_completion(&ball[0]);
	init_completion(&ball[1]);
	atomic_set(&arrived, 0);
	atomic_set(&present, workers);
	memset(team, 0, sizeof(team));
	for (i = 0; i < workers; i++) {
		struct task_struct *task;

		team[i].number = i;
		task = kthread_create_on_cpu(run_worker, &team[i], i, "truth/%u");
		if (IS_ERR(task))
			return PTR_ERR(task);
		wake_up_process(task);
	}
	wait_for_completion(&over);
	for (i = 0; i < workers; i++) {
		began = min(began, team[i].began);
		ended = max(ended, team[i].ended);
		count += team[i].count;
	}
	if (experiment == serve) {
		for (customer = 0; customer < given[2]; customer++)
			wait += waited[customer];
		must = must_wait();
		vfree(comes);
	}
	snprintf(answer, sizeof(answer), "%llu %llu %llu %llu", ended - began, count, wait, must);
	return 0;
}

static int set_run(const char *text, const struct kernel_param *unused)
{
	char name[16];
	int i, status = -EINVAL;

	mutex_lock(&one_at_a_time);
	memset(given, 0, sizeof(given));
	if (sscanf(text, "%15s %d %llu %llu %llu", name, &workers, &given[0], &given[1],
		   &given[2]) >= 3 && workers >= 1 && workers <= num_online_cpus()) {
		for (i = 0; i < ARRAY_SIZE(experiments); i++) {
			if (!strcmp(name, experiments[i].name)) {
				experiment = experiments[i].of;
				status = perform();
			}
		}
	}
	mutex_unlock(&one_at_a_time);
	return status;
}

static int get_run(char *text, const struct kernel_param *unused)
{
	return sprintf(text, "%s\n", answer);
}

static const struct kernel_param_ops run_ops = { .set = set_run, .get = get_run };
module_param_cb(run, &run_ops, NULL, 0600);
MODULE_PARM_DESC(run, "an experiment: its name, workers, numbers; read: ns, count, wait, must wait");
MODULE_DESCRIPTION("What processors that work side by side must do");
MODULE_LICENSE("GPL");
