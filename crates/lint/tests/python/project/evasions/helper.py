import subprocess


def run_it():
    return subprocess.run(["ls"])


def nothing():
    return 1


class Runner:
    def run(self):
        return run_it()
