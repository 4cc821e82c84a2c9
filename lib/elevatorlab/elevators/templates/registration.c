static struct elevator_type @NAME@_type = {
	.ops = {
		.init_sched = @NAME@_init_sched,
		.exit_sched = @NAME@_exit_sched,
		.insert_requests = @NAME@_insert_requests,
		.dispatch_request = @NAME@_dispatch_request,
		.has_work = @NAME@_has_work,
	},
@ATTRIBUTES@	.elevator_name = "@NAME@",
	.elevator_owner = THIS_MODULE,
};

static int __init @NAME@_init(void)
{
	return elv_register(&@NAME@_type);
}

static void __exit @NAME@_exit(void)
{
	elv_unregister(&@NAME@_type);
}

module_init(@NAME@_init);
module_exit(@NAME@_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("@NAME@ I/O scheduler");
MODULE_ALIAS("@NAME@-iosched");
