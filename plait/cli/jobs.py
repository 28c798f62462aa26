from plait.cli.command import new_group

group = new_group("X", "jobs", lists=True)
