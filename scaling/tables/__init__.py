"""Fair tables: compare rows that may be compared, and say where they may not."""

__all__: list[str] = []
