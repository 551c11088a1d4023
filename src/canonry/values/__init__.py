"""Ids, times, dates, errors, policies and merges: values that every other package uses."""
