from plait.cli.command import new_group

group = new_group("X", "queues", lists=True)
