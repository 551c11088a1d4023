"""Asking the canon: what is there, what holds, when, and why."""
