"""Admission: the seven gates between what somebody proposes and what becomes true of a world."""
