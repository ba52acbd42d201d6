"""The one command, ``nodetruth``; each part is imported only when its subcommand runs.

Exit codes: 0 all is well; 1 it could not be done (the message says what and
the way out); 2 the command line or the configuration is wrong.
"""

import argparse
import os
import sys
from importlib.metadata import version
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TypeAlias

if TYPE_CHECKING:
    from agent.place import Place
    from agent.settings import Settings

_AGENT = """
examples:
  nodetruth agent --node-file node.yaml      keep the Node in a file true; no cluster needed
  nodetruth agent --node-name $(hostname)    in a Pod, as a DaemonSet runs it
  nodetruth agent --node-name n1 --kubeconfig ~/.kube/config --dry-run --once
                                             show what would be written to n1

exit codes: 0 ended by a signal, or --once and the Node says what it should;
1 the Node can't be had or written; 2 wrong command line or configuration
"""
_PROBE = """
examples:
  nodetruth probe                  a table of what this machine's Node would say
  nodetruth probe -o json          labels, taints, held, facts, and unknown: probe -> reason

exit codes: 0 shown, also where a probe can't look; 2 wrong command line or configuration
"""
_CLEAN = """
Takes off every label, taint, annotation and condition of nodetruth's own and
puts back the values that other hands had set before it came. A second run
changes nothing. Stop the agent first, or it will say everything again.

examples:
  nodetruth clean --node-file node.yaml
  nodetruth clean --node-name n1 --kubeconfig ~/.kube/config --dry-run

exit codes: 0 nothing of ours is left; 1 the Node can't be had or written;
2 wrong command line or configuration
"""


_CHECK = """
Reads the file and the NODETRUTH_ variables as the agent would, and names every
fault with its path.

examples:
  nodetruth config check config.yaml

exit codes: 0 no fault; 2 at least one
"""

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001


def parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    whole = argparse.ArgumentParser(
        prog="nodetruth",
        description="Keeps the labels and taints of a Kubernetes Node true to its machine.",
        epilog="'nodetruth COMMAND --help' says more about each; exit codes: 0 done,"
        " 1 could not be done, 2 wrong command line or configuration, 130 interrupted",
    )
    whole.add_argument("--version", action="version", version=f"nodetruth {version('nodetruth')}")
    commands = whole.add_subparsers(metavar="COMMAND", required=True)
    _add_probe(commands)
    _add_agent(commands)
    _add_config(commands)
    _add_clean(commands)
    return whole


def main() -> NoReturn:
    """Run the command line and exit.

    By ``os._exit``: a thread that hangs in the kernel must not keep the process.
    """
    # A stream that the caller closed is None here, and print and log would stumble over it.
    sys.stdout = sys.stdout or Path(os.devnull).open("w")  # noqa: SIM115
    sys.stderr = sys.stderr or Path(os.devnull).open("w")  # noqa: SIM115
    if isinstance(sys.stdout, TextIOWrapper):
        # Names of others' may be in no terminal's alphabet.
        sys.stdout.reconfigure(errors="backslashreplace")
    code = run(sys.argv[1:])
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        pass
    except OSError as err:
        # What was printed lay in a buffer until now; if it was said already, once is enough.
        code = code or _say(err, 1)
    os._exit(code)


def run(argv: list[str]) -> int:
    """Run one command line; return its exit code."""
    asked = parser().parse_args(argv)
    from agent.config import ConfigError, load  # noqa: PLC0415  (--help needs none of it)
    from agent.log import set_up  # noqa: PLC0415
    from labeler.node import NodeError  # noqa: PLC0415

    set_up()
    try:
        return int(asked.act(asked, load(asked.config, os.environ)))
    except ConfigError as err:
        return _say(err, 2)
    except NodeError as err:
        return _say(err, 1)
    except BrokenPipeError:
        return 1
    except OSError as err:
        return _say(err, 1)
    except KeyboardInterrupt:
        return 130


def _say(err: Exception, code: int) -> int:
    print(f"nodetruth: {err}", file=sys.stderr)
    return code


def _probe(asked: argparse.Namespace, settings: "Settings") -> int:
    from agent.look import probe  # noqa: PLC0415

    return probe(settings, asked.output)


def _agent(asked: argparse.Namespace, settings: "Settings") -> int:
    from agent.outcome import Wish  # noqa: PLC0415
    from agent.run import agent  # noqa: PLC0415

    output = asked.output or ("table" if asked.once or sys.stdout.isatty() else None)
    wish = Wish(once=asked.once, output=output)
    return agent(settings.observing() if asked.dry_run else settings, _place(asked), wish)


def _clean(asked: argparse.Namespace, settings: "Settings") -> int:
    from agent.farewell import clean  # noqa: PLC0415

    return clean(settings, _place(asked), dry_run=asked.dry_run)


def _check(asked: argparse.Namespace, _settings: "Settings") -> int:
    print(f"{asked.config}: good")
    return 0


def _place(asked: argparse.Namespace) -> "Place":
    from agent.place import Place  # noqa: PLC0415

    if asked.node_file and asked.kubeconfig:
        parser().error("--kubeconfig is of no use with --node-file")
    return Place(file=asked.node_file, name=asked.node_name, kubeconfig=asked.kubeconfig)


def _add_probe(commands: Commands) -> None:
    probe = _command(commands, "probe", "look once and show what the Node would say", _PROBE)
    _take_config(probe)
    _take_output(probe, "table")
    probe.set_defaults(act=_probe)


def _add_agent(commands: Commands) -> None:
    agent = _command(commands, "agent", "keep this machine's Node true, all day", _AGENT)
    _take_place(agent)
    _take_config(agent)
    _take_output(agent, None)
    agent.add_argument(
        "--once", action="store_true", help="end after the first round that the Node confirms"
    )
    agent.add_argument(
        "--dry-run", action="store_true", help="write nothing; show what would be written"
    )
    agent.set_defaults(act=_agent)


def _add_config(commands: Commands) -> None:
    config = commands.add_parser("config", help="check a configuration file")
    below = config.add_subparsers(metavar="COMMAND", required=True)
    check = _command(below, "check", "name every fault of a configuration file", _CHECK)
    check.add_argument("config", type=Path, metavar="FILE", help="the configuration file")
    check.set_defaults(act=_check)


def _add_clean(commands: Commands) -> None:
    clean = _command(commands, "clean", "take everything of ours off a Node", _CLEAN)
    _take_place(clean)
    _take_config(clean)
    clean.add_argument(
        "--dry-run", action="store_true", help="write nothing; show what would be changed"
    )
    clean.set_defaults(act=_clean)


def _command(commands: Commands, name: str, brief: str, more: str) -> argparse.ArgumentParser:
    return commands.add_parser(
        name,
        help=brief,
        description=brief[0].upper() + brief[1:] + ".",
        epilog=more,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def _take_config(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="configuration file; NODETRUTH_ variables override it",
    )


def _take_output(command: argparse.ArgumentParser, default: str | None) -> None:
    command.add_argument(
        "-o",
        "--output",
        choices=("table", "json", "yaml"),
        default=default,
        help="how to show what the Node says (default: table, on a terminal)",
    )


def _take_place(command: argparse.ArgumentParser) -> None:
    where = command.add_mutually_exclusive_group()
    where.add_argument(
        "--node-file", type=Path, metavar="FILE", help="keep the Node in this YAML file"
    )
    where.add_argument(
        "--node-name",
        metavar="NAME",
        default=os.environ.get("NODE_NAME"),
        help="name of the Node in the cluster (default: $NODE_NAME)",
    )
    command.add_argument(
        "--kubeconfig", metavar="FILE", help="reach the cluster by this file, not as a Pod does"
    )
