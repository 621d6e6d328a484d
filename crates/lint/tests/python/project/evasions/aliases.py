"""Names that stand for other names."""

import asyncio
import importlib
import os
import os as system_module
import os.path
import pathlib
import shutil
import socket
import subprocess
import sys
import urllib.request
from functools import partial
from os import *  # noqa
from os import system as innocent
from pathlib import Path
from subprocess import run as walk_about, check_output


def uses_exec_plain():
    os.system("ls")


def uses_exec_alias_of_module():
    system_module.system("ls")


def uses_exec_alias_of_function():
    innocent("ls")


def uses_exec_from_import():
    walk_about(["git", "status"])
    check_output("ls")


def uses_exec_local_variable():
    f = os.system
    g = f
    g("ls")


def uses_exec_star_import():
    popen("ls")


def uses_exec_getattr_literal():
    getattr(os, "system")("ls")


def uses_exec_getattr_folded():
    getattr(os, "sys" + "tem")("ls")


def uses_dyn_unresolved_getattr_computed(name):
    getattr(os, name)("ls")


def uses_exec_import_function():
    __import__("os").system("ls")


def uses_exec_import_module():
    importlib.import_module("subprocess").run(["ls"])


def uses_dyn_unresolved_import_computed(name):
    return importlib.import_module(name)


def uses_exec_sys_modules():
    sys.modules["os"].system("ls")


def uses_exec_dict_of_module():
    os.__dict__["system"]("ls")


def uses_exec_vars_of_module():
    vars(os)["system"]("ls")


def uses_exec_local_import():
    import subprocess as s

    s.Popen(["ls"])


def uses_exec_partial():
    partial(os.system, "ls")()


def uses_exec_map():
    list(map(os.system, ["ls"]))


def uses_exec_walrus():
    (run := subprocess.run)(["ls"])


def uses_exec_tuple_assignment():
    a, b = os.getpid, os.system
    b("ls")


def uses_exec_conditional(flag):
    (os.system if flag else print)("ls")


def uses_exec_or(flag):
    (flag or os.system)("ls")


def uses_exec_list():
    [os.system][0]("ls")


def uses_exec_dict(name):
    table = {"a": os.system}
    table[name]("ls")


def uses_exec_comprehension():
    [f("ls") for f in (os.system,)]


def uses_exec_for_loop():
    for f in [os.system, print]:
        f("ls")


def uses_exec_join_of_letters():
    getattr(os, "".join(["sys", "tem"]))("ls")


NAME = "system"


def uses_exec_constant_name():
    getattr(os, NAME)("ls")


def uses_exec_f_string_name():
    getattr(os, f"{NAME}")("ls")


def uses_exec_aliased_getattr():
    take = getattr
    take(os, "system")("ls")


def uses_exec_builtins():
    import builtins

    builtins.__import__("os").system("ls")


async def uses_exec_async():
    await asyncio.create_subprocess_exec("git")


def uses_exec_module_passed_on():
    call_on(os)


def call_on(module):
    module.system("ls")


def uses_exec_returned_module():
    give_module().system("ls")


def give_module():
    return os


def clean_path_functions():
    return os.path.join("a", os.path.basename("b"), os.sep), os.getpid()


def clean_local_name_like_a_module(subprocess):
    return subprocess["run"]


def clean_own_function_like_a_power():
    def system(text):
        return text

    return system("ls")


def clean_pure_paths():
    return str(Path("a") / "b"), pathlib.PurePath("x").name


def clean_string_methods(text):
    return text.strip().replace("a", "b").join(["x"]).encode().decode()


def clean_import_literal_of_harmless():
    return importlib.import_module("json").dumps({})


def clean_print():
    print("os.system", file=sys.stderr)


def clean_names_in_text():
    return "os.system('ls')"
