"""Which runs would tell most next."""
