"""What a sweep will take, before it runs: FLOPs, memory, disk, time."""
