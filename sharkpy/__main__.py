"""python -m sharkpy: the command `sharkpy`."""

from sharkpy.cli.main import run

if __name__ == "__main__":
    run()
