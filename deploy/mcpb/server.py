"""The entry of the bundle: the command line of the release that it installs."""

from canonry.cli import main

main(prog_name="canonry")
