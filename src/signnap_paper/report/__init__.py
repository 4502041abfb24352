"""Pictures of numbers: functions that see plain values, never a method or a graph."""
