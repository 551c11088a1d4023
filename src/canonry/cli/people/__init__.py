"""For people: what the tools of the canon toolset answer agents, asked and read at a terminal."""
