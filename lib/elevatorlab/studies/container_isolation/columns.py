"""The tidy table of the study: one row a container and trial.

Parts ``regulated`` and ``compared`` have one row a container and second besides, with ``time_s``.
What does not apply to a part is empty.

=============================  ==================================================================
part                           equal, overload, open, regulated, compared
disk                           which model of the disk (`disks.DISKS`)
mechanism, load                what keeps containers apart, and what the offenders do
containers, overloaded         how many normal and how many overloaded containers there are
offered_ratio                  open load: arrivals times mean service time
subject, role                  the container, and whether it is normal or overloaded
iops .. utilization_ratio      of the container's own block device, from the kernel's counters
latency_mean_ms, _p99_ms       as the container itself saw it, around the system call
disk_iops ..                   of the whole disk, from the kernel's counters
disk_busy_ratio, service_ms    of the disk's server: its own account of what it served
limit_kib_s                    the regulator's limit of the container, at the end of the second
sla_wait_ms                    the wait that normal containers were promised
onset_s                        when the regulator (part regulated) or the overload (compared) began
violation_s, recovery_s        since then: seconds in which a normal container waited longer, and
                               seconds until that had ended
jain_ratio                     Jain's index of the normal containers' requests
=============================  ==================================================================
"""

COLUMNS = (
    "trial study testbed machine accelerator preset arm device backing_scheduler scheduler part "
    "disk mechanism load containers overloaded offered_ratio subject role time_s repetition seed "
    "duration_s requests iops write_kib_s wait_ms queue_length utilization_ratio latency_mean_ms "
    "latency_p99_ms disk_iops disk_kib_s disk_wait_ms disk_queue_length disk_utilization_ratio "
    "disk_busy_ratio service_ms cpu_busy_ratio limit_kib_s sla_wait_ms onset_s "
    "violation_s recovery_s jain_ratio image_digest"
).split()

ORDER = "part disk mechanism load containers overloaded offered_ratio scheduler".split()
ORDER += "repetition time_s subject trial".split()
