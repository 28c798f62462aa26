from plait.cli.command import new_group

group = new_group("X", "tenants", lists=True)
