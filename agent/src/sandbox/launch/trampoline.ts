import { quoteShellWord } from '../shell-word.ts'
import { IGNORED_OUTSIDE, TRAMPOLINE } from './trampoline-programs.ts'

/** Descriptors that the trampoline opens for bubblewrap, which closes them before the command. */
export const DESCRIPTORS = { arguments: 3, seccomp: 4, gate: 5, info: 6 } as const

/** Names of the files in the directory of one launch, which the agent makes. */
export const LAUNCH_FILES = {
  /** The words of `encodeBubblewrapArguments`. */
  arguments: 'arguments',
  /** The bytes of `encodeSeccompFilter`. */
  seccomp: 'seccomp',
  /** FIFO; the command starts when the agent has written a byte. */
  gate: 'gate',
  /** FIFO or file; bubblewrap writes a JSON object with `child-pid`. */
  info: 'info',
  /**
   * FIFO; end of file when the supervisor has ended, however. The agent then ends the holder: a
   * first process whose parent is killed while it waits at the gate would stay.
   */
  sync: 'sync',
  /** FIFO; lines for people once nothing is left of the sandbox, and then its end. */
  end: 'end',
  /** FIFOs; between the command and each standard descriptor that is carried. */
  input: 'input',
  output: 'output',
  errors: 'errors',
  /** File; the reason why the agent ended the sandbox, in printable lines. */
  refusal: 'refusal',
  /** File; the control groups of the sandbox, a line each. Absent means no group. */
  cgroups: 'cgroups',
} as const

export interface Launch {
  /** Absolute path of the directory with the files above. */
  readonly directory: string
  /** Process id of the first process in the namespaces of the holder. */
  readonly holder: number
  /** Absolute paths: the `PATH` of the person may lead into a workspace. */
  readonly programs: {
    readonly setpriv: string
    readonly nsenter: string
    readonly bubblewrap: string
    /** GNU env(1), inside. */
    readonly env: string
  }
  /**
   * A program and its arguments that follow the command, with its exit code as a last argument.
   * Empty or absent for a supervisor that ends with the command.
   */
  readonly after?: readonly string[]
  readonly limits: ProcessLimits
}

/** Limits that the supervising shell sets, or that the command has from the groups it enters. */
export interface ProcessLimits {
  /** Processes of the user in the namespaces of the holder, with those of the sandbox itself. */
  readonly processes: number
  /** Open files of a process. */
  readonly files: number
  /** Private writable memory of a process, in bytes; null without a limit. */
  readonly dataBytes: number | null
  /** Whether the command may run only in the control groups. */
  readonly mustEnterCgroups: boolean
}

/**
 * The arguments, after its name and before the command, with which `/bin/sh` becomes the supervisor
 * of one command. It ends with the command's exit code, with 128 + n after signal n, with 126 or
 * 127 if the command cannot be run, and with 125 if the sandbox was refused.
 *
 * The name of the command must not have a `=`, which env(1) takes for a variable.
 *
 * The caller executes it with an empty environment and without descriptors other than 0–2. The
 * text is fixed: everything that varies is an argument.
 *
 * Throws a `RangeError` for a text with a NUL.
 */
export function trampolineArguments(launch: Launch): readonly string[] {
  const { after = [], directory, holder, programs, limits } = launch
  const { processes, files, dataBytes, mustEnterCgroups } = limits
  const data = dataBytes === null ? '' : String(Math.ceil(dataBytes / KIBIBYTE))
  const words = [
    ['-c', TRAMPOLINE, 'palisade', directory, String(holder)],
    [programs.setpriv, programs.nsenter, programs.bubblewrap],
    [mustEnterCgroups ? 'yes' : 'no', HOLD_LIMITS, String(processes), String(files), data],
    [after.map(quoteShellWord).join(' ')],
    [programs.env, `--default-signal=${IGNORED_OUTSIDE.join(',')}`, '--'],
  ].flat()
  const broken = words.find((word) => word.includes('\0'))
  if (broken !== undefined) throw new RangeError(`\`${broken}\` has a NUL character`)
  return words
}

const KIBIBYTE = 1024

/**
 * The program of the shell that becomes the parent of bubblewrap, in the namespaces of the holder:
 * there the kernel counts the processes of the sandbox alone, and not all of the user. Shells name
 * the limit of processes `u` or `p`.
 */
const HOLD_LIMITS = String.raw`
[ "$PPID" = "$1" ] || exit
processes=$2 files=$3 data=$4
shift 4

refuse() {
  printf 'palisade: /bin/sh cannot set the limit of %s\n' "$1" >&2
  exit 125
}

{ ulimit -u "$processes" || ulimit -p "$processes"; } 2>/dev/null || refuse processes
ulimit -n "$files" || refuse files
ulimit -c 0 || refuse 'core files'
[ -z "$data" ] || ulimit -d "$data" || refuse process-memory

"$@"
exit $?
`
