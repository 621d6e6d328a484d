"""Effects behind classes, operators, decorators and callbacks."""

import contextlib
import functools
import os
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor

from . import helper
from .helper import run_it as ran, Runner


class Base:
    def template(self):
        return self.step()

    def step(self):
        return 1


class Child(Base):
    def step(self):
        return os.system("ls")


class Holder:
    command = os.system

    def __init__(self):
        self.run = subprocess.run
        self.inner = Inner()

    def __enter__(self):
        os.remove("x")
        return self

    def __exit__(self, *_):
        return None

    def uses_exec_own_attribute(self):
        self.run(["ls"])

    def uses_exec_class_attribute(self):
        self.command("ls")

    def uses_exec_inner_object(self):
        self.inner.go()

    def clean_method(self):
        return 1


class Inner:
    def go(self):
        os.system("ls")

    def stay(self):
        return 2


class Opened:
    def __init__(self):
        os.mkdir("x")


class Shown:
    def __str__(self):
        return os.getenv("HOME")

    def __add__(self, other):
        os.remove("x")

    def __getitem__(self, key):
        return os.listdir(key)

    def __call__(self):
        os.system("ls")

    def __iter__(self):
        os.chdir("/")
        yield 1

    def __getattr__(self, name):
        return os.listdir(name)

    def __del__(self):
        pass


class WithProperty:
    @property
    def home(self):
        return os.environ["HOME"]

    @staticmethod
    def static():
        os.system("ls")

    @classmethod
    def made(cls):
        os.system("ls")
        return cls()


class Meta(type):
    def __new__(mcs, *rest):
        os.remove("x")
        return super().__new__(mcs, *rest)


class Task(threading.Thread):
    def run(self):
        os.system("ls")


def logged(function):
    @functools.wraps(function)
    def inner(*arguments):
        os.remove("log")
        return function(*arguments)

    return inner


@logged
def decorated():
    return 1


@contextlib.contextmanager
def context():
    os.mkdir("x")
    yield 1


def generator():
    os.remove("x")
    yield os.system


def default(function=os.system):
    function("ls")


def apply(function, *rest):
    return function(*rest)


def uses_exec_override():
    Child().template()


def clean_base_alone():
    return Base().step()


def uses_exec_static():
    WithProperty.static()


def uses_exec_class_method():
    WithProperty.made()


def uses_env_read_property():
    return WithProperty().home


def uses_fs_write_constructor():
    Opened()


def uses_fs_write_context():
    with Holder():
        pass


def uses_env_read_text():
    return f"{Shown()}"


def uses_env_read_str():
    return str(Shown())


def uses_fs_write_operator():
    return Shown() + 1


def uses_fs_read_subscript():
    return Shown()["x"]


def uses_exec_called_instance():
    Shown()()


def uses_env_write_iteration():
    for _ in Shown():
        pass


def uses_fs_read_unknown_attribute():
    return Shown().anything


def uses_fs_write_metaclass():
    class Made(metaclass=Meta):
        pass

    return Made


def uses_exec_thread_subclass():
    Task().start()


def uses_exec_thread_target():
    threading.Thread(target=os.system, args=("ls",)).start()


def uses_exec_pool():
    with ThreadPoolExecutor() as pool:
        pool.submit(os.system, "ls")


def uses_fs_write_decorated():
    return decorated()


def uses_fs_write_context_manager():
    with context():
        pass


def uses_exec_fs_write_generator():
    for f in generator():
        f("ls")


def uses_exec_default():
    default()


def uses_exec_callback():
    apply(os.system, "ls")


def uses_exec_lambda():
    apply(lambda text: os.system(text), "ls")


def uses_exec_nested():
    def inner():
        def innermost():
            os.system("ls")

        return innermost

    inner()()


def uses_exec_other_module():
    helper.run_it()


def uses_exec_other_module_alias():
    ran()


def uses_exec_other_module_class():
    Runner().run()


def uses_exec_super():
    class Deep(Runner):
        def run(self):
            return super().run()

    Deep().run()


def uses_exec_attribute_set_later():
    class Empty:
        pass

    thing = Empty()
    thing.f = os.system
    thing.f("ls")


def uses_exec_setattr():
    class Empty:
        pass

    thing = Empty()
    setattr(thing, "f", os.system)
    thing.f("ls")


def clean_callback():
    return apply(len, "ls")


def clean_other_method():
    return Inner().stay()


def clean_other_module():
    return helper.nothing()


def clean_lambda():
    return sorted([3, 1], key=lambda x: -x)


def clean_class_definition():
    class Local:
        def never(self):
            return 1

    return Local().never()


def uses_unanalyzed_absent_package():
    import package_that_is_not_there

    package_that_is_not_there.go()


def uses_net_connect_absent_client():
    import requests

    return requests.get("https://api.example.com/x")
